-- The content of runs of tenants that store it: messages, parameters, passages, calls of tools and the response.
create table chat.run_contents (
  -- The id of the run.
  id uuid constraint run_contents_pkey primary key,
  tenant_id uuid not null,
  user_id text,
  -- Compressed and then encrypted.
  content bytea not null,
  -- Size of the content.
  bytes integer not null,
  -- The time at which the run began.
  created_at timestamptz not null,
  expires_at timestamptz not null
);
-- Statistics would keep user ids after they are deleted.
alter table chat.run_contents alter column user_id set statistics 0;
-- It is compressed already.
alter table chat.run_contents alter column content set storage external;
create index run_contents_expires_at_idx on chat.run_contents (expires_at);
create index run_contents_user_id_idx on chat.run_contents (tenant_id, user_id);
-- For the bound of each tenant.
create index run_contents_created_at_idx on chat.run_contents (tenant_id, created_at, bytes);
-- Few keys have values, so lists of one key's are short when they are read.
create index run_contents_sealed_by_idx on chat.run_contents (chat.sealed_by(content), id);

alter table chat.run_contents enable row level security;
alter table chat.run_contents force row level security;
create policy run_contents_app_select on chat.run_contents for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy run_contents_system_select on chat.run_contents for select to chat_system using (true);
create policy run_contents_system_insert on chat.run_contents for insert to chat_system with check (true);
create policy run_contents_system_update on chat.run_contents for update to chat_system
  using (true) with check (true);
create policy run_contents_system_delete on chat.run_contents for delete to chat_system using (true);
grant select on chat.run_contents to chat_app;
grant select, insert, delete on chat.run_contents to chat_system;
-- The data keys of contents are wrapped again by the first key of the ring.
grant update (content) on chat.run_contents to chat_system;
