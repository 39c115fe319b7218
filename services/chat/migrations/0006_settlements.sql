-- What runs are charged to budgets: written with a run's end, summed, sent to the tenant service and deleted.

-- The budgets that the run was reserved in: [{subjectId, windowStart}]; null when there are none.
alter table chat.runs add column charges json;

create table chat.run_costs (
  id bigint generated always as identity constraint run_costs_pkey primary key,
  tenant_id uuid not null,
  -- The instance that reserved for the run.
  holder_id uuid not null,
  charges text not null,
  cost_pico bigint not null
);

-- Costs of many runs in sum, as the tenant service is told of them; it charges each settlement once.
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

-- When all that a dead instance held of budgets was free again.
alter table chat.instances add column released_at timestamptz;
