-- Changes of agents that are not yet published to the audit log.

create table agent.audit_outbox (
  id bigint generated always as identity constraint audit_outbox_pkey primary key,
  partition integer not null,
  tenant_id uuid,
  -- The time of the entry, and of everything that its transaction wrote.
  occurred_at timestamptz not null default now(),
  -- The entry without its time.
  entry json not null
);

alter table agent.audit_outbox enable row level security;
alter table agent.audit_outbox force row level security;

create policy audit_outbox_app_insert on agent.audit_outbox for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy audit_outbox_system_select on agent.audit_outbox for select to agent_system using (true);
create policy audit_outbox_system_delete on agent.audit_outbox for delete to agent_system using (true);

grant insert on agent.audit_outbox to agent_app;
grant select, delete on agent.audit_outbox to agent_system;
