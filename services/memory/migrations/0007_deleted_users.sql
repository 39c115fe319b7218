-- Users whose data were deleted: what they did before is refused, in case it was under way. Kept for 30 days.
create table memory.deleted_users (
  tenant_id uuid not null,
  -- SHA-256 of the tenant and the user id: the id itself is deleted too.
  user_hash bytea not null constraint deleted_users_user_hash_check check (octet_length(user_hash) = 32),
  requested_at timestamptz not null,
  constraint deleted_users_pkey primary key (tenant_id, user_hash)
);
create index deleted_users_requested_at_idx on memory.deleted_users (requested_at);

alter table memory.deleted_users enable row level security;
alter table memory.deleted_users force row level security;
create policy deleted_users_app_select on memory.deleted_users for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy deleted_users_app_insert on memory.deleted_users for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy deleted_users_app_update on memory.deleted_users for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy deleted_users_app_delete on memory.deleted_users for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.deleted_users to memory_app;
grant update (requested_at) on memory.deleted_users to memory_app;
