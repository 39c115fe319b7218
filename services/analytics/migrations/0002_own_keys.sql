-- Runs that were made with a key of the tenant's own for the provider: their costs are listed apart.
alter table analytics.traces add column own_key boolean not null default false;

alter table analytics.usage
  add column own_key_requests bigint not null default 0,
  add column own_key_cost_pico numeric(38, 0) not null default 0;
alter table analytics.usage_totals
  add column own_key_requests bigint not null default 0,
  add column own_key_cost_pico numeric(38, 0) not null default 0;

alter policy usage_system_delete on analytics.usage using (
  requests = 0 and errors = 0 and cancelled = 0 and input_tokens = 0 and cached_input_tokens = 0 and output_tokens = 0
  and reasoning_tokens = 0 and tool_calls = 0 and timed_requests = 0 and duration_ms = 0 and cost_pico = 0
  and unpriced_requests = 0 and estimated_requests = 0 and estimated_cost_pico = 0 and own_key_requests = 0
  and own_key_cost_pico = 0
);
alter policy usage_totals_system_delete on analytics.usage_totals using (
  requests = 0 and errors = 0 and cancelled = 0 and input_tokens = 0 and cached_input_tokens = 0 and output_tokens = 0
  and reasoning_tokens = 0 and tool_calls = 0 and timed_requests = 0 and duration_ms = 0 and cost_pico = 0
  and unpriced_requests = 0 and estimated_requests = 0 and estimated_cost_pico = 0 and own_key_requests = 0
  and own_key_cost_pico = 0
);
