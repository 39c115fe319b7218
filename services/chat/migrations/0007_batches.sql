-- Files with the requests and the results of batches. Their content is at the provider; clients know them by ids of ours.
create table chat.files (
  id uuid constraint files_pkey primary key,
  tenant_id uuid not null,
  -- Null for a key without a user.
  user_id text,
  -- batch for requests, batch_output for results.
  purpose text not null,
  -- The key that the provider knows the file by.
  provider text not null,
  -- The name of the key in the provider's pool; null for its one key.
  key_id text,
  -- The tenant's own key; null for the platform's.
  own_key_id uuid,
  provider_file_id text not null,
  -- JSON: the model of its requests, and the most that they may use; null for results.
  requests text,
  -- Encrypted: how the provider describes it.
  content bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- It is no longer shown, and the provider's is deleted next.
  deleted_at timestamptz,
  -- Failed attempts to delete the provider's.
  tries integer not null default 0,
  -- The time of the next attempt.
  due_at timestamptz
);
create index files_list_idx on chat.files (tenant_id, coalesce(user_id, ''), id);
create index files_expires_at_idx on chat.files (expires_at) where deleted_at is null;
create index files_due_at_idx on chat.files (due_at) where deleted_at is not null;

alter table chat.files enable row level security;
alter table chat.files force row level security;
create policy files_system_select on chat.files for select to chat_system using (true);
create policy files_system_insert on chat.files for insert to chat_system with check (true);
create policy files_system_update on chat.files for update to chat_system using (true) with check (true);
create policy files_system_delete on chat.files for delete to chat_system using (true);
grant select, insert, delete on chat.files to chat_system;
grant update (user_id, content, deleted_at, tries, due_at) on chat.files to chat_system;

-- Batches of requests at providers. A batch is one run: its end writes the event of the run, once.
create table chat.batches (
  -- The id of its run.
  id uuid constraint batches_pkey primary key,
  tenant_id uuid not null,
  -- Null for a key without a user.
  user_id text,
  -- SHA-256 of tenant and user; null without a user.
  user_digest bytea,
  api_key_id uuid not null,
  -- As in files.
  provider text not null,
  key_id text,
  own_key_id uuid,
  -- Null until the provider has said that it has the batch.
  provider_batch_id text,
  input_file_id uuid not null,
  provider_file_id text not null,
  output_file_id uuid,
  error_file_id uuid,
  -- Id in the catalogue, and the provider's name.
  model text not null,
  upstream_model text not null,
  requests integer not null,
  -- The most that its requests may use.
  reserved_input_tokens bigint not null,
  reserved_tokens bigint not null,
  -- Charged to its budgets at the start; the end charges the difference.
  reserved_pico bigint not null,
  -- As in open_runs.
  charges text,
  run text not null,
  -- Encrypted: how the provider describes it; null until it has.
  content bytea,
  -- The tenant's retention when it began.
  days integer not null,
  created_at timestamptz not null default now(),
  -- Since when the provider can't be asked about it; null while it can.
  failing_since timestamptz,
  polls integer not null default 0,
  -- The time at which it is asked about next. The replica that does so moves it ahead, and sets the lease.
  due_at timestamptz not null,
  lease_id uuid,
  ended_at timestamptz,
  -- After its end.
  expires_at timestamptz,
  -- Whether its user was deleted: it is no longer shown, and is cancelled.
  forgotten boolean not null default false
);
create index batches_list_idx on chat.batches (tenant_id, coalesce(user_id, ''), id);
create index batches_due_at_idx on chat.batches (tenant_id, due_at) where ended_at is null;
create index batches_input_file_id_idx on chat.batches (input_file_id) where ended_at is null;
-- No two batches have one of a provider, so none is charged twice.
create unique index batches_provider_batch_id_idx on chat.batches (provider, provider_batch_id);
create index batches_expires_at_idx on chat.batches (expires_at) where ended_at is not null;

alter table chat.batches enable row level security;
alter table chat.batches force row level security;
create policy batches_system_select on chat.batches for select to chat_system using (true);
create policy batches_system_insert on chat.batches for insert to chat_system with check (true);
create policy batches_system_update on chat.batches for update to chat_system using (true) with check (true);
create policy batches_system_delete on chat.batches for delete to chat_system using (true);
grant select, insert, delete on chat.batches to chat_system;
grant update (user_id, run, provider_batch_id, output_file_id, error_file_id, content, failing_since, polls, due_at, lease_id,
  ended_at, expires_at, forgotten) on chat.batches to chat_system;
