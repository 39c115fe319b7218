-- What runs are charged to budgets: written with a run's end, sent to the tenant service and deleted.

-- The budgets that the run was reserved in: [{subjectId, windowStart}]; null when there are none.
alter table chat.runs add column charges json;

create table chat.settlements (
  run_id uuid constraint settlements_pkey primary key,
  tenant_id uuid not null,
  -- The instance that reserved for the run.
  holder_id uuid not null,
  charges json not null,
  cost_pico bigint not null
);
create index settlements_holder_id_idx on chat.settlements (holder_id);

alter table chat.settlements enable row level security;
alter table chat.settlements force row level security;
create policy settlements_system_select on chat.settlements for select to chat_system using (true);
create policy settlements_system_insert on chat.settlements for insert to chat_system with check (true);
create policy settlements_system_delete on chat.settlements for delete to chat_system using (true);
grant select, insert, delete on chat.settlements to chat_system;

-- When all that a dead instance held of budgets was free again.
alter table chat.instances add column released_at timestamptz;
