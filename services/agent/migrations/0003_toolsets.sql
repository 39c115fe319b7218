-- The tools that programs may call, by the names of servers, of their tools, and of agents.
create table agent.toolsets (
  id uuid constraint toolsets_pkey primary key,
  tenant_id uuid not null,
  name text not null,
  description text not null,
  -- `server` or `server/tool`.
  mcp_servers text[] not null,
  deny text[] not null,
  -- `key`, or `key/tool` for one of its tools.
  agents text[] not null,
  -- Whether names of tools begin with their server.
  prefix boolean not null,
  visibility text not null constraint toolsets_visibility_check check (visibility in ('tenant', 'named')),
  enabled boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint toolsets_tenant_id_name_key unique (tenant_id, name)
);
create index toolsets_tenant_id_idx on agent.toolsets (tenant_id, id);

alter table agent.toolsets enable row level security;
alter table agent.toolsets force row level security;
create policy toolsets_app_select on agent.toolsets for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy toolsets_app_insert on agent.toolsets for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy toolsets_app_update on agent.toolsets for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
create policy toolsets_app_delete on agent.toolsets for delete to agent_app
  using (tenant_id = agent.current_tenant());
grant select, insert, delete on agent.toolsets to agent_app;
grant update (name, description, mcp_servers, deny, agents, prefix, visibility, enabled, updated_at)
  on agent.toolsets to agent_app;
