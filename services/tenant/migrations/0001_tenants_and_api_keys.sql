-- Tenants and the API keys of tenants and owners.

-- The tenant whose rows a transaction of tenant_app may see. Raises an exception if none is set, so that a missing
-- setting causes an error instead of an empty result.
create function tenant.current_tenant() returns uuid language plpgsql stable as $$
declare
  current text := current_setting('gatehouse.tenant_id', true);
begin
  -- On a reused connection the value is '' after a transaction-local setting ended; treat it as not set.
  if current is null or current = '' then
    raise exception 'no tenant is set for this transaction' using errcode = 'insufficient_privilege';
  end if;
  return current::uuid;
end
$$;

create table tenant.tenants (
  id uuid constraint tenants_pkey primary key,
  slug text not null constraint tenants_slug_key unique,
  name text not null,
  status text not null default 'active'
    constraint tenants_status_check check (status in ('active', 'suspended', 'archived')),
  -- {requests_per_minute?, tokens_per_minute?, max_concurrent?}; an absent member means no limit.
  limits jsonb not null,
  -- {usd, period}
  budget jsonb,
  -- Null allows all models of the catalogue.
  allowed_models text[],
  timezone text not null,
  retention_days integer not null,
  previews_enabled boolean not null,
  previews_max_chars integer not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table tenant.api_keys (
  id uuid constraint api_keys_pkey primary key,
  tenant_id uuid constraint api_keys_tenant_id_fkey references tenant.tenants (id),
  -- The public part of the key text.
  key_id text not null
    constraint api_keys_key_id_key unique
    constraint api_keys_key_id_check check (key_id ~ '^[0-9A-Za-z]{16}$'),
  secret_sha256 bytea not null constraint api_keys_secret_check check (octet_length(secret_sha256) = 32),
  -- The secret before the last rotation, valid until `previous_valid_until`.
  previous_secret_sha256 bytea constraint api_keys_previous_secret_check check (octet_length(previous_secret_sha256) = 32),
  previous_valid_until timestamptz,
  name text not null,
  role text not null constraint api_keys_role_check check (role in ('owner', 'admin', 'user')),
  scopes text[] not null,
  user_id text,
  limits jsonb,
  budget jsonb,
  -- The id of the key that created it, or 'bootstrap'.
  created_by text not null,
  created_at timestamptz not null default now(),
  -- Approximate: updated at most once a minute.
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  constraint api_keys_tenant_check check ((role = 'owner') = (tenant_id is null)),
  constraint api_keys_previous_check check ((previous_secret_sha256 is null) = (previous_valid_until is null))
);
create index api_keys_tenant_id_idx on tenant.api_keys (tenant_id, id);
-- For revocation of owner keys, which searches for other active ones.
create index api_keys_owner_idx on tenant.api_keys (id) where role = 'owner';

-- Defines the status of a key by the database clock, because the clocks of replicas may differ.
create function tenant.api_key_status(key tenant.api_keys) returns text language sql stable as $$
  select case
    when key.revoked_at is not null then 'revoked'
    when key.expires_at <= now() then 'expired'
    when key.previous_valid_until > now() then 'expiring'
    else 'active'
  end
$$;

alter table tenant.tenants enable row level security;
alter table tenant.tenants force row level security;
alter table tenant.api_keys enable row level security;
alter table tenant.api_keys force row level security;

create policy tenants_app_select on tenant.tenants for select to tenant_app
  using (id = tenant.current_tenant());
create policy tenants_system_select on tenant.tenants for select to tenant_system using (true);
create policy tenants_system_insert on tenant.tenants for insert to tenant_system with check (true);
create policy tenants_system_update on tenant.tenants for update to tenant_system using (true) with check (true);

create policy api_keys_app_select on tenant.api_keys for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy api_keys_app_insert on tenant.api_keys for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy api_keys_app_update on tenant.api_keys for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy api_keys_system_select on tenant.api_keys for select to tenant_system using (true);
create policy api_keys_system_insert on tenant.api_keys for insert to tenant_system with check (true);
create policy api_keys_system_update on tenant.api_keys for update to tenant_system using (true) with check (true);

grant usage on schema tenant to tenant_app, tenant_system;
revoke execute on function tenant.current_tenant(), tenant.api_key_status(tenant.api_keys) from public;
grant execute on function tenant.current_tenant() to tenant_app;
grant execute on function tenant.api_key_status(tenant.api_keys) to tenant_app, tenant_system;
grant select on tenant.tenants to tenant_app;
grant select, insert on tenant.tenants to tenant_system;
grant update (slug, name, status, limits, budget, allowed_models, timezone, retention_days, previews_enabled,
  previews_max_chars, updated_at) on tenant.tenants to tenant_system;
grant select, insert on tenant.api_keys to tenant_app, tenant_system;
-- The rights of a key never change; only its secret changes, and when it ends.
grant update (secret_sha256, previous_secret_sha256, previous_valid_until, revoked_at) on tenant.api_keys to tenant_app;
grant update (last_used_at, revoked_at) on tenant.api_keys to tenant_system;
grant select on tenant.migrations to tenant_app, tenant_system;
