-- Users whose data were deleted: what they did before the deletion gets no text and no user id any more, however late it
-- is written. Kept for 30 days.
create table chat.forgotten_users (
  tenant_id uuid not null,
  -- SHA-256 of tenant and user: this table is no list of the users who left.
  user_digest bytea not null,
  requested_at timestamptz not null,
  -- When this service first heard of it.
  created_at timestamptz not null default now(),
  constraint forgotten_users_pkey primary key (tenant_id, user_digest)
);
create index forgotten_users_created_at_idx on chat.forgotten_users (created_at);

alter table chat.forgotten_users enable row level security;
alter table chat.forgotten_users force row level security;
create policy forgotten_users_system_select on chat.forgotten_users for select to chat_system using (true);
create policy forgotten_users_system_insert on chat.forgotten_users for insert to chat_system with check (true);
create policy forgotten_users_system_update on chat.forgotten_users for update to chat_system
  using (true) with check (true);
create policy forgotten_users_system_delete on chat.forgotten_users for delete to chat_system using (true);
grant select, insert, update, delete on chat.forgotten_users to chat_system;

-- Whether the user of the run was forgotten while it lasted: its end publishes no text.
alter table chat.open_runs add column forgotten boolean not null default false;

create policy outbox_system_update on chat.outbox for update to chat_system using (true) with check (true);
grant update (data) on chat.outbox to chat_system;
