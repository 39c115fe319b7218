-- The makers of seals of thoughts that clients got as they are, so that no other provider gets them. Clients go on with
-- conversations after days, so they are kept for 30 days, as long as responses at most.
create table chat.seals (
  tenant_id uuid not null,
  -- 128 bits of a hash of the end of the seal.
  digest bytea not null,
  maker text not null,
  -- Null for a key without a user.
  user_id text,
  -- Size of a row with its indexes.
  bytes integer not null default 300,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '30 days',
  constraint seals_pkey primary key (tenant_id, digest)
);
create index seals_expires_at_idx on chat.seals (expires_at);
create index seals_user_id_idx on chat.seals (tenant_id, user_id);
-- For the bound of each tenant.
create index seals_created_at_idx on chat.seals (tenant_id, created_at, bytes);

alter table chat.seals enable row level security;
alter table chat.seals force row level security;
create policy seals_system_select on chat.seals for select to chat_system using (true);
create policy seals_system_insert on chat.seals for insert to chat_system with check (true);
create policy seals_system_delete on chat.seals for delete to chat_system using (true);
grant select, insert, delete on chat.seals to chat_system;
