-- Stops of runs: those under way end, and until hold_until requests for others like them are refused.
create table chat.run_stops (
  -- A new one with each stop.
  id uuid constraint run_stops_pkey primary key,
  tenant_id uuid not null,
  -- The one run to end; null for all selected ones.
  run_id uuid,
  -- The compared facts of a run, and their SHA-256: no name is stored. Null for a run without a session.
  selection text,
  digest bytea constraint run_stops_digest_check check (octet_length(digest) = 32),
  -- The user whose request stored it, as a SHA-256; null for an administrator.
  sender_digest bytea constraint run_stops_sender_digest_check check (octet_length(sender_digest) = 32),
  -- Requests for it in the minute of stopped_at.
  requests integer not null default 1,
  stopped_at timestamptz not null,
  hold_until timestamptz not null,
  -- Later than hold_until where replicas might not have read it by then.
  expires_at timestamptz not null,
  constraint run_stops_selected_key unique nulls not distinct (tenant_id, run_id, selection, digest, sender_digest)
);
create index run_stops_stopped_at_idx on chat.run_stops (stopped_at);
create index run_stops_expires_at_idx on chat.run_stops (expires_at);

alter table chat.run_stops enable row level security;
alter table chat.run_stops force row level security;
create policy run_stops_app_select on chat.run_stops for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy run_stops_app_insert on chat.run_stops for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy run_stops_app_update on chat.run_stops for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
create policy run_stops_system_select on chat.run_stops for select to chat_system using (true);
create policy run_stops_system_delete on chat.run_stops for delete to chat_system using (true);
grant select, insert on chat.run_stops to chat_app;
grant update (id, stopped_at, hold_until, expires_at, requests) on chat.run_stops to chat_app;
grant select, delete on chat.run_stops to chat_system;

-- Changes to publish to the audit log.
create table chat.audit_outbox (
  id bigint generated always as identity constraint audit_outbox_pkey primary key,
  partition integer not null,
  tenant_id uuid,
  -- The time of the entry, and of everything that its transaction wrote.
  occurred_at timestamptz not null default now(),
  -- The entry without its time.
  entry json not null
);
-- For reading the oldest entries of a partition, however many entries other partitions have.
create index audit_outbox_partition_idx on chat.audit_outbox (partition, id);

alter table chat.audit_outbox enable row level security;
alter table chat.audit_outbox force row level security;
create policy audit_outbox_app_insert on chat.audit_outbox for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy audit_outbox_system_select on chat.audit_outbox for select to chat_system using (true);
create policy audit_outbox_system_delete on chat.audit_outbox for delete to chat_system using (true);
grant insert on chat.audit_outbox to chat_app;
grant select, delete on chat.audit_outbox to chat_system;

-- Changes that could not be published, with the reason. Kept for 30 days, at most 1,000.
create table chat.audit_outbox_dead_letters (
  id bigint generated always as identity constraint audit_outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table chat.audit_outbox_dead_letters enable row level security;
alter table chat.audit_outbox_dead_letters force row level security;
create policy audit_outbox_dead_letters_system_select on chat.audit_outbox_dead_letters
  for select to chat_system using (true);
create policy audit_outbox_dead_letters_system_insert on chat.audit_outbox_dead_letters
  for insert to chat_system with check (true);
create policy audit_outbox_dead_letters_system_delete on chat.audit_outbox_dead_letters
  for delete to chat_system using (true);
grant select, insert, delete on chat.audit_outbox_dead_letters to chat_system;
