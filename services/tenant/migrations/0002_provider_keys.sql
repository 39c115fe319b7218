-- Keys of tenants' own for model providers.
create table tenant.provider_keys (
  id uuid constraint provider_keys_pkey primary key,
  tenant_id uuid not null constraint provider_keys_tenant_id_fkey references tenant.tenants (id),
  -- Name of a provider of chat's catalogue.
  provider text not null,
  -- Encrypted.
  key bytea not null,
  -- The beginning of the key, to recognize it by.
  prefix text not null,
  -- Null for all models of the provider.
  models text[],
  -- The user whose requests the key is for; null for all.
  user_id text,
  -- Whether the provider refused the key when it was used last.
  failing boolean not null default false,
  created_at timestamptz not null default now(),
  -- Approximate: updated at most once a minute.
  last_used_at timestamptz
);
create index provider_keys_tenant_id_idx on tenant.provider_keys (tenant_id, id);

alter table tenant.provider_keys enable row level security;
alter table tenant.provider_keys force row level security;
create policy provider_keys_app_select on tenant.provider_keys for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy provider_keys_app_insert on tenant.provider_keys for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy provider_keys_app_update on tenant.provider_keys for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy provider_keys_app_delete on tenant.provider_keys for delete to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy provider_keys_system_select on tenant.provider_keys for select to tenant_system using (true);
create policy provider_keys_system_update on tenant.provider_keys for update to tenant_system
  using (true) with check (true);
grant select, insert, delete on tenant.provider_keys to tenant_app;
-- For encryption with another key.
grant update (key) on tenant.provider_keys to tenant_app;
grant select on tenant.provider_keys to tenant_system;
grant update (failing, last_used_at) on tenant.provider_keys to tenant_system;
