-- Requests of a tenant in its last minute with any, by which the gateway calls an address that the tenant chose.
create table agent.minute_counts (
  tenant_id uuid not null,
  kind text not null,
  minute timestamptz not null,
  count integer not null,
  constraint minute_counts_pkey primary key (tenant_id, kind)
) with (fillfactor = 50);

alter table agent.minute_counts enable row level security;
alter table agent.minute_counts force row level security;
create policy minute_counts_app_select on agent.minute_counts for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy minute_counts_app_insert on agent.minute_counts for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy minute_counts_app_update on agent.minute_counts for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
grant select, insert on agent.minute_counts to agent_app;
grant update (minute, count) on agent.minute_counts to agent_app;
