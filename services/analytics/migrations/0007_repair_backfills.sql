-- Migrations 0003 to 0006 of earlier releases copied nothing if the table owner was neither a superuser nor had
-- BYPASSRLS, because forced row-level security hid all rows. This migration rebuilds the missing data from `usage` and
-- `traces`, which are complete. It changes nothing if nothing is missing.

-- Blocks counting until this migration commits. Ingestion waits, and retries after a timeout.
lock table analytics.traces, analytics.usage, analytics.usage_totals, analytics.unpriced_models,
  analytics.user_counters, analytics.users, analytics.usage_users in access exclusive mode;
alter table analytics.traces no force row level security;
alter table analytics.usage no force row level security;
alter table analytics.usage_totals no force row level security;
alter table analytics.unpriced_models no force row level security;
alter table analytics.user_counters no force row level security;
alter table analytics.users no force row level security;
alter table analytics.usage_users no force row level security;

-- 0003: each row is the sum of its rows in `usage`, including those counted since.
insert into analytics.usage_totals as kept
  (tenant_id, bucket, agent_id, model, provider, channel, requests, errors, cancelled, input_tokens,
   cached_input_tokens, output_tokens, reasoning_tokens, tool_calls, timed_requests, duration_ms, cost_pico,
   unpriced_requests, estimated_requests, estimated_cost_pico)
select tenant_id, bucket, agent_id, model, provider, channel, sum(requests), sum(errors), sum(cancelled),
       sum(input_tokens), sum(cached_input_tokens), sum(output_tokens), sum(reasoning_tokens), sum(tool_calls),
       sum(timed_requests), sum(duration_ms), sum(cost_pico), sum(unpriced_requests), sum(estimated_requests),
       sum(estimated_cost_pico)
from analytics.usage group by tenant_id, bucket, agent_id, model, provider, channel
on conflict on constraint usage_totals_key do update set
  requests = excluded.requests, errors = excluded.errors, cancelled = excluded.cancelled,
  input_tokens = excluded.input_tokens, cached_input_tokens = excluded.cached_input_tokens,
  output_tokens = excluded.output_tokens, reasoning_tokens = excluded.reasoning_tokens,
  tool_calls = excluded.tool_calls, timed_requests = excluded.timed_requests, duration_ms = excluded.duration_ms,
  cost_pico = excluded.cost_pico, unpriced_requests = excluded.unpriced_requests,
  estimated_requests = excluded.estimated_requests, estimated_cost_pico = excluded.estimated_cost_pico
where kept is distinct from excluded;

-- 0004: users without a number get the next free numbers, and `user_counters` grows accordingly.
with missing as (
  select distinct tenant_id, user_id from analytics.usage u
  where user_id is not null and not exists (
    select from analytics.users n where n.tenant_id = u.tenant_id and n.user_id = u.user_id)
), counted as (
  insert into analytics.user_counters as kept (tenant_id, taken)
  select tenant_id, count(*) from missing group by tenant_id
  on conflict (tenant_id) do update set taken = kept.taken + excluded.taken
  returning tenant_id, taken
)
insert into analytics.users (tenant_id, user_id, number)
select tenant_id, user_id, taken - row_number() over (partition by tenant_id order by user_id desc)
from missing join counted using (tenant_id);

insert into analytics.usage_users as kept (tenant_id, bucket, agent_id, model, provider, channel, chunk, users)
select u.tenant_id, u.bucket, u.agent_id, u.model, u.provider, u.channel, n.number / 1024,
       bit_or(analytics.user_bit(n.number))
from analytics.usage u join analytics.users n using (tenant_id, user_id)
group by u.tenant_id, u.bucket, u.agent_id, u.model, u.provider, u.channel, n.number / 1024
on conflict on constraint usage_users_key do update set users = kept.users | excluded.users
where kept.users & excluded.users <> excluded.users;

-- 0006, the roll-up: for runs that it missed, `traces` identifies the row of `usage` that counts them …
insert into analytics.unpriced_models
  (tenant_id, bucket, agent_id, model, provider, channel, user_id, api_key_id, unpriced_model)
select distinct tenant_id, date_bin('15 minutes', ended_at, 'epoch'), agent_id, coalesce(model, request_model),
       coalesce(provider, ''), channel, user_id, api_key_id, coalesce(model, request_model)
from analytics.traces
where ended_at is not null and not priced and unpriced_models is null and called is distinct from false
on conflict do nothing;
-- … and for runs that retention has deleted, a row of `usage` with unpriced runs has no model here yet.
insert into analytics.unpriced_models
  (tenant_id, bucket, agent_id, model, provider, channel, user_id, api_key_id, unpriced_model)
select tenant_id, bucket, agent_id, model, provider, channel, user_id, api_key_id, model
from (
  select tenant_id, bucket, agent_id, model, provider, channel, user_id, api_key_id
  from analytics.usage where unpriced_requests > 0
  except
  select tenant_id, bucket, agent_id, model, provider, channel, user_id, api_key_id from analytics.unpriced_models
) as unnamed;

-- 0005 and 0006: the runs themselves.
update analytics.traces set
  called = coalesce(called, true),
  unpriced_models = case when not priced then coalesce(unpriced_models, array[coalesce(model, request_model)]) end
where ended_at is not null and (called is null or not priced and unpriced_models is null);

alter table analytics.traces force row level security;
alter table analytics.usage force row level security;
alter table analytics.usage_totals force row level security;
alter table analytics.unpriced_models force row level security;
alter table analytics.user_counters force row level security;
alter table analytics.users force row level security;
alter table analytics.usage_users force row level security;
