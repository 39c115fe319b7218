-- What a transfer of resources between two tenants would do. Deleted a day after they have expired.
create table tenant.transfer_previews (
  id uuid constraint transfer_previews_pkey primary key,
  source_tenant_id uuid not null
    constraint transfer_previews_source_tenant_id_fkey references tenant.tenants (id),
  -- Not a foreign key: an admin may name a tenant that does not exist, without learning that.
  target_tenant_id uuid not null,
  -- {mode, resources, include, on_conflict}
  request json not null,
  -- Resources, counts and dependencies, as the services had them.
  source json not null,
  -- Conflicts and problems; null until the target has accepted.
  target json,
  created_by uuid not null,
  -- Whether an owner has asked for it: then the target need not accept.
  by_owner boolean not null,
  accepted_at timestamptz,
  used_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '1 hour',
  constraint transfer_previews_tenants_check check (source_tenant_id <> target_tenant_id),
  constraint transfer_previews_target_check check ((target is null) = (accepted_at is null))
);
create index transfer_previews_source_tenant_id_idx on tenant.transfer_previews (source_tenant_id, expires_at);
create index transfer_previews_expires_at_idx on tenant.transfer_previews (expires_at);

alter table tenant.transfer_previews enable row level security;
alter table tenant.transfer_previews force row level security;

create policy transfer_previews_app_select on tenant.transfer_previews for select to tenant_app
  using (tenant.current_tenant() in (source_tenant_id, target_tenant_id));
create policy transfer_previews_app_insert on tenant.transfer_previews for insert to tenant_app
  with check (source_tenant_id = tenant.current_tenant());
create policy transfer_previews_app_update on tenant.transfer_previews for update to tenant_app
  using (tenant.current_tenant() in (source_tenant_id, target_tenant_id))
  with check (tenant.current_tenant() in (source_tenant_id, target_tenant_id));
create policy transfer_previews_system_select on tenant.transfer_previews for select to tenant_system using (true);
create policy transfer_previews_system_insert on tenant.transfer_previews for insert to tenant_system with check (true);
create policy transfer_previews_system_update on tenant.transfer_previews for update to tenant_system
  using (true) with check (true);
create policy transfer_previews_system_delete on tenant.transfer_previews for delete to tenant_system
  using (expires_at < now() - interval '1 day');

grant select, insert on tenant.transfer_previews to tenant_app, tenant_system;
grant update (target, accepted_at, used_at) on tenant.transfer_previews to tenant_app, tenant_system;
grant delete on tenant.transfer_previews to tenant_system;
