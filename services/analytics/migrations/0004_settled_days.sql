-- Sums of whole days, which a job makes once a day is over: summaries of a tenant with many agents would otherwise add up
-- about as many rows as it has runs. Summaries read them only for days that are settled.

-- The days of tenants that are over and count something, from midnight to midnight in UTC.
create table analytics.settled_days (
  tenant_id uuid not null,
  day timestamptz not null,
  -- `changed`: rows of `settled_usage` are not to be used, and are deleted. `open`: being added up. `settled`: complete.
  -- `small`: the other roll-ups are read, because the day has few rows or too many.
  state text not null default 'changed' constraint settled_days_state_check
    check (state in ('changed', 'open', 'settled', 'small')),
  -- The hours of an open day that are added up.
  hours smallint not null default 0,
  constraint settled_days_pkey primary key (tenant_id, day)
);
create index settled_days_due_idx on analytics.settled_days (tenant_id, day desc) where state in ('changed', 'open');

alter table analytics.settled_days enable row level security;
alter table analytics.settled_days force row level security;
create policy settled_days_app_select on analytics.settled_days for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy settled_days_system_select on analytics.settled_days for select to analytics_system using (true);
create policy settled_days_system_insert on analytics.settled_days for insert to analytics_system with check (true);
create policy settled_days_system_update on analytics.settled_days for update to analytics_system
  using (true) with check (true);
grant select on analytics.settled_days to analytics_app;
grant select, insert, update on analytics.settled_days to analytics_system;

-- The sums of settled days. A kind of rows has some of the columns that `usage` groups runs by, and null in the others.
create table analytics.settled_usage (
  tenant_id uuid not null,
  -- `hour`: without agents. `agent`, `api_key`: with these. All three have model, provider, channel, dialect and client.
  -- `user`: with users alone.
  kind text not null constraint settled_usage_kind_check check (kind in ('hour', 'agent', 'api_key', 'user')),
  -- The start of an hour; of the other kinds that of a day, or of a part of it if the day has very many runs.
  bucket timestamptz not null,
  agent_id uuid,
  model text,
  provider text,
  channel text,
  dialect text,
  client text,
  user_id text,
  api_key_id uuid,
  requests bigint not null,
  errors bigint not null,
  cancelled bigint not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  tool_calls bigint not null,
  timed_requests bigint not null,
  duration_ms bigint not null,
  cost_pico numeric(38, 0) not null,
  unpriced_requests bigint not null,
  estimated_requests bigint not null,
  estimated_cost_pico numeric(38, 0) not null,
  own_key_requests bigint not null,
  own_key_cost_pico numeric(38, 0) not null,
  unpriced_models text[],
  -- The users of rows of the kinds `hour` and `agent`, as in `usage_users`.
  chunks integer[],
  users bit(1024)[]
);
create index settled_usage_idx on analytics.settled_usage (tenant_id, kind, bucket);

alter table analytics.settled_usage enable row level security;
alter table analytics.settled_usage force row level security;
create policy settled_usage_app_select on analytics.settled_usage for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy settled_usage_system_select on analytics.settled_usage for select to analytics_system using (true);
create policy settled_usage_system_insert on analytics.settled_usage for insert to analytics_system with check (true);
create policy settled_usage_system_delete on analytics.settled_usage for delete to analytics_system using (true);
grant select on analytics.settled_usage to analytics_app;
grant select, insert, delete on analytics.settled_usage to analytics_system;

-- A count into a day that is over makes that day `changed`, whichever release of the service counts. It holds the row of
-- the day until it has committed, and the job opens the day by the same row: so all that was counted before is added up,
-- and all that is counted later changes the day again.
create function analytics.change_day() returns trigger language plpgsql as $$
begin
  insert into analytics.settled_days as known (tenant_id, day)
  values (new.tenant_id, date_bin('1 day', new.bucket, 'epoch'))
  on conflict (tenant_id, day) do update set state = 'changed', hours = 0 where known.state <> 'changed';
  return null;
end
$$;
revoke execute on function analytics.change_day() from public;

-- The job opens a day two hours after its end. No transaction lasts for the hour between the two.
create trigger usage_change_day after insert or update on analytics.usage for each row
  when (new.bucket < date_bin('1 day', now() - interval '1 hour', 'epoch'))
  execute function analytics.change_day();
