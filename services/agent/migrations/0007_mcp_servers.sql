-- MCP servers that tenants register, with the tools that they listed last.

create table agent.mcp_servers (
  id uuid constraint mcp_servers_pkey primary key,
  tenant_id uuid not null,
  name text not null,
  url text not null,
  transport text not null
    constraint mcp_servers_transport_check check (transport in ('streamable_http', 'sse', 'auto')),
  -- The type and what is public of it.
  auth json not null,
  -- Encrypted JSON; null while they are not set.
  secrets bytea,
  tool_filter json not null,
  timeout_ms integer not null,
  enabled boolean not null,
  status text not null
    constraint mcp_servers_status_check check (status in ('pending', 'connected', 'needs_auth', 'error', 'disabled')),
  status_reason text,
  -- Changes with what a connection depends on: url, transport, auth, secrets.
  connection_id uuid not null,
  protocol_version text,
  -- json, because schemas go to models unchanged.
  tools json not null default '[]',
  tools_updated_at timestamptz,
  -- Then the list is fetched again.
  tools_expire_at timestamptz,
  -- Failures to connect, one after the other.
  failures integer not null default 0,
  -- The server is not called before.
  retry_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint mcp_servers_tenant_id_name_key unique (tenant_id, name)
);
create index mcp_servers_tenant_id_idx on agent.mcp_servers (tenant_id, id);

alter table agent.mcp_servers enable row level security;
alter table agent.mcp_servers force row level security;

create policy mcp_servers_app_select on agent.mcp_servers for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy mcp_servers_app_insert on agent.mcp_servers for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy mcp_servers_app_update on agent.mcp_servers for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
create policy mcp_servers_app_delete on agent.mcp_servers for delete to agent_app
  using (tenant_id = agent.current_tenant());
create policy mcp_servers_system_select on agent.mcp_servers for select to agent_system using (true);

grant select, insert, delete on agent.mcp_servers to agent_app;
grant update (name, url, transport, auth, secrets, tool_filter, timeout_ms, enabled, status, status_reason,
  connection_id, protocol_version, tools, tools_updated_at, tools_expire_at, failures, retry_at, updated_at)
  on agent.mcp_servers to agent_app;
-- Finds what another key has encrypted.
grant select (id, tenant_id, secrets) on agent.mcp_servers to agent_system;
