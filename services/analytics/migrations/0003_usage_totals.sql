-- `usage` without users and keys: enough for most summaries, with far fewer rows.
create table analytics.usage_totals (
  tenant_id uuid not null,
  -- Start of the 15 minutes in which the runs ended.
  bucket timestamptz not null,
  agent_id uuid,
  model text not null,
  provider text not null,
  channel text not null,
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
  constraint usage_totals_key unique nulls not distinct (tenant_id, bucket, model, agent_id, provider, channel)
) with (fillfactor = 70);

-- Blocks counting until this migration commits. Stop replicas of the previous release before it runs.
lock table analytics.usage in access exclusive mode;
-- Forced row-level security would hide every row from an owner without superuser rights.
alter table analytics.usage no force row level security;

insert into analytics.usage_totals
select tenant_id, bucket, agent_id, model, provider, channel, sum(requests), sum(errors), sum(cancelled),
       sum(input_tokens), sum(cached_input_tokens), sum(output_tokens), sum(reasoning_tokens), sum(tool_calls),
       sum(timed_requests), sum(duration_ms), sum(cost_pico), sum(unpriced_requests), sum(estimated_requests),
       sum(estimated_cost_pico)
from analytics.usage group by tenant_id, bucket, agent_id, model, provider, channel;
alter table analytics.usage force row level security;

alter table analytics.usage_totals enable row level security;
alter table analytics.usage_totals force row level security;
create policy usage_totals_app_select on analytics.usage_totals for select to analytics_app
  using (tenant_id = analytics.current_tenant());
create policy usage_totals_system_select on analytics.usage_totals for select to analytics_system using (true);
create policy usage_totals_system_insert on analytics.usage_totals for insert to analytics_system with check (true);
create policy usage_totals_system_update on analytics.usage_totals for update to analytics_system
  using (true) with check (true);
grant select on analytics.usage_totals to analytics_app, analytics_system;
grant insert, update on analytics.usage_totals to analytics_system;
