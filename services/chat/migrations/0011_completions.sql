-- Answers of the RPC Complete, so that a repeated call gets the answer instead of a second run. Kept for 24 hours.
create table chat.completions (
  tenant_id uuid not null,
  call_id uuid not null,
  -- The call that works on it, or did. A call that takes over an abandoned row sets a new one.
  claim_id uuid not null,
  -- The process of that call. The row of a dead one can be taken over.
  instance_id uuid not null,
  -- SHA-256 of everything that defines the request.
  fingerprint bytea not null,
  user_id text,
  -- Encrypted; null while the call is in progress. Written in the transaction that ends its run.
  answer bytea,
  expires_at timestamptz not null,
  constraint completions_pkey primary key (tenant_id, call_id)
);
create unique index completions_claim_id_idx on chat.completions (claim_id);
create index completions_expires_at_idx on chat.completions (expires_at);
create index completions_user_id_idx on chat.completions (tenant_id, user_id);

alter table chat.completions enable row level security;
alter table chat.completions force row level security;
create policy completions_system_select on chat.completions for select to chat_system using (true);
create policy completions_system_insert on chat.completions for insert to chat_system with check (true);
create policy completions_system_update on chat.completions for update to chat_system using (true) with check (true);
create policy completions_system_delete on chat.completions for delete to chat_system using (true);
grant select, insert, update, delete on chat.completions to chat_system;
