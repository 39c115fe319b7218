-- Endpoints for webhooks that trigger agents.

-- The tenant whose rows a transaction of webhook_app may see. Raises an exception if none is set, so that a missing
-- setting causes an error instead of an empty result.
create function webhook.current_tenant() returns uuid language plpgsql stable as $$
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

create table webhook.endpoints (
  id uuid constraint endpoints_pkey primary key,
  tenant_id uuid not null,
  name text not null,
  agent_id uuid not null,
  scheme text not null,
  template text,
  mode text not null constraint endpoints_mode_check check (mode in ('sync', 'async')),
  callback_url text,
  rate_limit_per_minute integer,
  allowed_cidrs text[] not null,
  enabled boolean not null,
  -- Encrypted.
  secret bytea not null,
  -- Encrypted: the secret before the last rotation, which is accepted until this time.
  previous_secret bytea,
  previous_secret_expires_at timestamptz,
  -- Encrypted: signs results.
  callback_secret bytea not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint endpoints_previous_secret_check
    check ((previous_secret is null) = (previous_secret_expires_at is null))
);
create index endpoints_tenant_id_idx on webhook.endpoints (tenant_id, id);

alter table webhook.endpoints enable row level security;
alter table webhook.endpoints force row level security;

create policy endpoints_app_select on webhook.endpoints for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy endpoints_app_insert on webhook.endpoints for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy endpoints_app_update on webhook.endpoints for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy endpoints_app_delete on webhook.endpoints for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
-- A delivery names its endpoint, and with it the tenant.
create policy endpoints_system_select on webhook.endpoints for select to webhook_system using (true);

grant usage on schema webhook to webhook_app, webhook_system;
revoke execute on function webhook.current_tenant() from public;
grant execute on function webhook.current_tenant() to webhook_app;
grant select, insert, delete on webhook.endpoints to webhook_app;
grant update (name, agent_id, template, mode, callback_url, rate_limit_per_minute, allowed_cidrs, enabled, secret,
  previous_secret, previous_secret_expires_at, updated_at) on webhook.endpoints to webhook_app;
grant select on webhook.endpoints to webhook_system;
grant select on webhook.migrations to webhook_app, webhook_system;
