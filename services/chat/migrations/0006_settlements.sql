-- Charges of runs to budgets: written at the end of a run, summed, sent to the tenant service and deleted.

-- The budgets in which the run was reserved: [{subjectId, windowStart}]; null if none.
alter table chat.runs add column charges json;

create table chat.run_costs (
  id bigint generated always as identity constraint run_costs_pkey primary key,
  tenant_id uuid not null,
  -- The instance that reserved the run.
  holder_id uuid not null,
  charges text not null,
  cost_pico bigint not null
);

-- Summed costs of many runs, as sent to the tenant service, which charges each settlement once.
create table chat.settlements (
  id uuid constraint settlements_pkey primary key default gen_random_uuid(),
  tenant_id uuid not null,
  holder_id uuid not null,
  charges text not null,
  cost_pico numeric not null
);

alter table chat.run_costs enable row level security;
alter table chat.run_costs force row level security;
alter table chat.settlements enable row level security;
alter table chat.settlements force row level security;
create policy run_costs_system_select on chat.run_costs for select to chat_system using (true);
create policy run_costs_system_insert on chat.run_costs for insert to chat_system with check (true);
create policy run_costs_system_delete on chat.run_costs for delete to chat_system using (true);
create policy settlements_system_select on chat.settlements for select to chat_system using (true);
create policy settlements_system_insert on chat.settlements for insert to chat_system with check (true);
create policy settlements_system_delete on chat.settlements for delete to chat_system using (true);
grant select, insert, delete on chat.run_costs, chat.settlements to chat_system;

-- The time at which all budget amounts held by a dead instance were released.
alter table chat.instances add column released_at timestamptz;
