-- Checks of the texts of the runs that they select. A guardrail of the owner has no tenant.
create table tenant.guardrails (
  id uuid constraint guardrails_pkey primary key,
  tenant_id uuid constraint guardrails_tenant_id_fkey references tenant.tenants (id),
  -- For a guardrail of the owner: the tenants that it holds for; null for all.
  tenants uuid[],
  name text not null,
  -- The names and patterns of each field that is named. Runs of any value match a field that is not.
  selection jsonb not null,
  -- The check and the action, as clients see them.
  definition jsonb not null,
  -- Credentials for the server that is asked, sealed; null without.
  secrets bytea,
  -- Whether the check sends texts to a model or a server.
  asks_outside boolean not null,
  enabled boolean not null,
  -- One more with each change: a replica knows by it whether a check is the one that it has compiled.
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint guardrails_name_key unique nulls not distinct (tenant_id, name),
  constraint guardrails_tenants_check check (tenant_id is null or tenants is null)
);

create index guardrails_secrets_sealed_by_idx on tenant.guardrails (tenant.sealed_by(secrets))
  where secrets is not null;

alter table tenant.guardrails enable row level security;
alter table tenant.guardrails force row level security;
create policy guardrails_app_select on tenant.guardrails for select to tenant_app
  using (tenant_id = tenant.current_tenant()
    or tenant_id is null and (tenants is null or tenant.current_tenant() = any (tenants)));
create policy guardrails_app_insert on tenant.guardrails for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy guardrails_app_update on tenant.guardrails for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy guardrails_app_delete on tenant.guardrails for delete to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy guardrails_system_select on tenant.guardrails for select to tenant_system using (true);
create policy guardrails_system_insert on tenant.guardrails for insert to tenant_system with check (true);
create policy guardrails_system_update on tenant.guardrails for update to tenant_system using (true) with check (true);
create policy guardrails_system_delete on tenant.guardrails for delete to tenant_system using (true);
grant select, insert, update, delete on tenant.guardrails to tenant_app, tenant_system;

-- The settings of a tenant have its guardrails too.
create trigger guardrails_changed after insert or update or delete on tenant.guardrails
  for each row execute function tenant.add_policy_change();

-- Admin keys with every scope get the new one: only the platform's owner could make another key with it.
alter table tenant.api_keys no force row level security;
alter table tenant.changes no force row level security;
update tenant.api_keys set scopes = array_append(scopes, 'guardrails.write')
where role = 'admin' and revoked_at is null and not 'guardrails.write' = any (scopes)
  and scopes @> '{chat,agents.read,agents.write,memory.read,memory.write,analytics.read,cookies.write,channels.read,channels.write,mcp.write,webhooks.write,keys.write,transfers.write,policies.write,users.write,runs.write}';
alter table tenant.api_keys force row level security;
alter table tenant.changes force row level security;
