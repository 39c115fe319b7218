-- Deletions of what users left in the services. Kept for 90 days after their completion.
create table tenant.user_deletions (
  id uuid constraint user_deletions_pkey primary key,
  tenant_id uuid not null constraint user_deletions_tenant_id_fkey references tenant.tenants (id),
  -- Only while the deletion runs; then it is deleted, too.
  user_id text,
  -- A hash with a key of SECRETS_KEYRING, by which the tenant finds the deletion later.
  user_hash text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- What the user did before is deleted. Later than `created_at` if the deletion was requested again.
  requested_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  constraint user_deletions_user_id_check check ((user_id is null) = (completed_at is not null))
);
-- Statistics would keep user ids after they are deleted.
alter table tenant.user_deletions alter column user_id set statistics 0;
create unique index user_deletions_running_key on tenant.user_deletions (tenant_id, user_id) where completed_at is null;
create index user_deletions_running_idx on tenant.user_deletions (created_at) where completed_at is null;
create index user_deletions_completed_idx on tenant.user_deletions (completed_at) where completed_at is not null;

-- The part of each service in a deletion.
create table tenant.user_deletion_services (
  deletion_id uuid not null
    constraint user_deletion_services_deletion_id_fkey references tenant.user_deletions (id) on delete cascade,
  tenant_id uuid not null,
  service text not null,
  -- What was removed so far, by kind.
  counts jsonb not null default '{}',
  -- When the service was last called.
  attempted_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  constraint user_deletion_services_pkey primary key (deletion_id, service)
);
create index user_deletion_services_running_idx on tenant.user_deletion_services (attempted_at)
  where completed_at is null;

alter table tenant.user_deletions enable row level security;
alter table tenant.user_deletions force row level security;
alter table tenant.user_deletion_services enable row level security;
alter table tenant.user_deletion_services force row level security;

create policy user_deletions_app_select on tenant.user_deletions for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy user_deletions_app_insert on tenant.user_deletions for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy user_deletions_app_update on tenant.user_deletions for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy user_deletions_system_select on tenant.user_deletions for select to tenant_system using (true);
create policy user_deletions_system_delete on tenant.user_deletions for delete to tenant_system using (true);
create policy user_deletion_services_app_select on tenant.user_deletion_services for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy user_deletion_services_app_insert on tenant.user_deletion_services for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy user_deletion_services_app_update on tenant.user_deletion_services for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy user_deletion_services_system_select on tenant.user_deletion_services
  for select to tenant_system using (true);
create policy user_deletion_services_system_update on tenant.user_deletion_services
  for update to tenant_system using (true) with check (true);

grant select, insert on tenant.user_deletions, tenant.user_deletion_services to tenant_app;
grant update (user_id, user_hash, requested_at, completed_at) on tenant.user_deletions to tenant_app;
grant update (counts, attempted_at, completed_at) on tenant.user_deletion_services to tenant_app;
grant select, delete on tenant.user_deletions to tenant_system;
grant select on tenant.user_deletion_services to tenant_system;
grant update (attempted_at) on tenant.user_deletion_services to tenant_system;
