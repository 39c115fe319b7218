-- Thoughts of models for clients whose API has no place for them, by the call of a tool that they came before. Kept for 24
-- hours.
create table chat.thoughts (
  tenant_id uuid not null,
  -- As the client gets it.
  call_id text not null,
  -- Null for a key without a user.
  user_id text,
  -- Encrypted; null where calls of two answers have the id.
  content bytea,
  -- Size of the content.
  bytes integer not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '24 hours',
  constraint thoughts_pkey primary key (tenant_id, call_id)
);
create index thoughts_expires_at_idx on chat.thoughts (expires_at);
create index thoughts_user_id_idx on chat.thoughts (tenant_id, user_id);
-- For the bound of each tenant.
create index thoughts_created_at_idx on chat.thoughts (tenant_id, created_at, bytes);

alter table chat.thoughts enable row level security;
alter table chat.thoughts force row level security;
create policy thoughts_system_select on chat.thoughts for select to chat_system using (true);
create policy thoughts_system_insert on chat.thoughts for insert to chat_system with check (true);
create policy thoughts_system_update on chat.thoughts for update to chat_system using (true) with check (true);
create policy thoughts_system_delete on chat.thoughts for delete to chat_system using (true);
grant select, insert, update, delete on chat.thoughts to chat_system;
