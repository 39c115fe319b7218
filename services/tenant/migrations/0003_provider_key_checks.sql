-- Keys for model providers that a tenant gave in its last minute with any: each is checked by a call of the provider.
create table tenant.provider_key_checks (
  tenant_id uuid constraint provider_key_checks_pkey primary key
    constraint provider_key_checks_tenant_id_fkey references tenant.tenants (id),
  minute timestamptz not null,
  checks integer not null
) with (fillfactor = 50);

alter table tenant.provider_key_checks enable row level security;
alter table tenant.provider_key_checks force row level security;
create policy provider_key_checks_app_select on tenant.provider_key_checks for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy provider_key_checks_app_insert on tenant.provider_key_checks for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy provider_key_checks_app_update on tenant.provider_key_checks for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
grant select, insert on tenant.provider_key_checks to tenant_app;
grant update (minute, checks) on tenant.provider_key_checks to tenant_app;
