-- Cookies that users give to agents.

create table agent.cookies (
  id uuid constraint cookies_pkey primary key,
  tenant_id uuid not null,
  user_id text not null,
  agent_id uuid not null constraint cookies_agent_id_fkey references agent.agents on delete cascade,
  name text not null,
  -- Encrypted.
  value bytea not null,
  -- Without a leading dot.
  domain text not null,
  -- Whether subdomains do not get it.
  host_only boolean not null,
  path text not null,
  secure boolean not null,
  http_only boolean not null,
  same_site text constraint cookies_same_site_check check (same_site in ('strict', 'lax', 'none')),
  -- The site whose pages it is for; '' for every page.
  partition_key text not null,
  -- Null for the end of the browser's session.
  expires_at timestamptz,
  -- Then it is deleted.
  kept_until timestamptz not null,
  source text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- A digest of domain, name, path, host_only and partition_key, which may be too long for an index.
  place bytea not null,
  constraint cookies_place_key unique (tenant_id, user_id, agent_id, place)
);
-- Serves the deletion of agents.
create index cookies_agent_id_idx on agent.cookies (agent_id);
create index cookies_user_id_idx on agent.cookies (tenant_id, user_id, id);
create index cookies_kept_until_idx on agent.cookies (kept_until);

alter table agent.cookies enable row level security;
alter table agent.cookies force row level security;

create policy cookies_app_select on agent.cookies for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy cookies_app_insert on agent.cookies for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy cookies_app_update on agent.cookies for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
create policy cookies_app_delete on agent.cookies for delete to agent_app
  using (tenant_id = agent.current_tenant());
-- Deletes what is over, of all tenants.
create policy cookies_system_select on agent.cookies for select to agent_system using (true);
create policy cookies_system_delete on agent.cookies for delete to agent_system using (true);

grant select, insert, delete on agent.cookies to agent_app;
grant update (id, value, secure, http_only, same_site, expires_at, kept_until, source, updated_at) on agent.cookies
  to agent_app;
-- Finds what another key has encrypted, too.
grant select (id, tenant_id, value, kept_until), delete on agent.cookies to agent_system;
