-- Transfers of agents and MCP servers between tenants.

-- Those that this service has a part in. Kept for 30 days after their end.
create table agent.transfers (
  id uuid constraint transfers_pkey primary key,
  source_tenant_id uuid not null,
  target_tenant_id uuid not null,
  state text not null default 'open'
    constraint transfers_state_check check (state in ('open', 'committed', 'aborted')),
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create index transfers_ended_at_idx on agent.transfers (ended_at);
alter table agent.transfers enable row level security;
alter table agent.transfers force row level security;
create policy transfers_app_select on agent.transfers for select to agent_app
  using (agent.current_tenant() in (source_tenant_id, target_tenant_id));
create policy transfers_app_insert on agent.transfers for insert to agent_app
  with check (agent.current_tenant() = source_tenant_id);
create policy transfers_app_update on agent.transfers for update to agent_app
  using (agent.current_tenant() = source_tenant_id) with check (agent.current_tenant() = source_tenant_id);
create policy transfers_system_select on agent.transfers for select to agent_system using (true);
create policy transfers_system_delete on agent.transfers for delete to agent_system
  using (ended_at < now() - interval '30 days');
grant select, insert on agent.transfers to agent_app;
grant update (state, ended_at) on agent.transfers to agent_app;
grant select, delete on agent.transfers to agent_system;

-- The transfer whose hidden rows a transaction may see.
create function agent.current_transfer() returns uuid language sql stable as $$
  select nullif(current_setting('gatehouse.transfer_id', true), '')::uuid
$$;
revoke execute on function agent.current_transfer() from public;
grant execute on function agent.current_transfer() to agent_app;

alter table agent.agents
  -- The transfer that keeps it as it is.
  add column locked_by uuid,
  -- Whether it refuses requests: it is about to move.
  add column closed boolean not null default false,
  -- The transfer that brings it: until its end nothing shows it, and its key is taken.
  add column arriving_in uuid;
alter table agent.mcp_servers
  add column locked_by uuid,
  add column arriving_in uuid;
create index agents_arriving_in_idx on agent.agents (arriving_in) where arriving_in is not null;
create index mcp_servers_arriving_in_idx on agent.mcp_servers (arriving_in) where arriving_in is not null;
grant update (locked_by, closed, arriving_in) on agent.agents to agent_app;
grant update (locked_by, arriving_in) on agent.mcp_servers to agent_app;

do $$
declare
  name text;
  visible constant text :=
    'tenant_id = agent.current_tenant() and (arriving_in is null or arriving_in = agent.current_transfer())';
begin
  foreach name in array array['agents', 'mcp_servers'] loop
    execute format('alter policy %1$s_app_select on agent.%1$I using (%2$s)', name, visible);
    execute format('alter policy %1$s_app_insert on agent.%1$I with check (%2$s)', name, visible);
    execute format('alter policy %1$s_app_update on agent.%1$I using (%2$s) with check (%2$s)', name, visible);
    execute format('alter policy %1$s_app_delete on agent.%1$I using (%2$s)', name, visible);
  end loop;
end
$$;
