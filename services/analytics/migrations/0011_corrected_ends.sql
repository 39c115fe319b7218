-- The exact end of a run may come after an estimated one. It replaces it, once, in the trace and in the roll-ups.

-- Whether the end of the run has replaced an estimated one: a further one does nothing.
alter table analytics.traces add column corrected boolean not null default false;

-- Rows of the roll-ups that count nothing any more are deleted, and no others. While a user is being deleted, the row of
-- the pseudonym may have no requests but the difference that a correction makes to a run in the row of the user.
create policy usage_system_delete on analytics.usage for delete to analytics_system using (
  requests = 0 and errors = 0 and cancelled = 0 and input_tokens = 0 and cached_input_tokens = 0 and output_tokens = 0
  and reasoning_tokens = 0 and tool_calls = 0 and timed_requests = 0 and duration_ms = 0 and cost_pico = 0
  and unpriced_requests = 0 and estimated_requests = 0 and estimated_cost_pico = 0
);
create policy usage_totals_system_delete on analytics.usage_totals for delete to analytics_system using (
  requests = 0 and errors = 0 and cancelled = 0 and input_tokens = 0 and cached_input_tokens = 0 and output_tokens = 0
  and reasoning_tokens = 0 and tool_calls = 0 and timed_requests = 0 and duration_ms = 0 and cost_pico = 0
  and unpriced_requests = 0 and estimated_requests = 0 and estimated_cost_pico = 0
);
create policy usage_users_system_delete on analytics.usage_users for delete to analytics_system
  using (bit_count(users) = 0);
create policy unpriced_models_system_delete on analytics.unpriced_models for delete to analytics_system using (true);
grant delete on analytics.usage, analytics.usage_totals, analytics.usage_users, analytics.unpriced_models
  to analytics_system;
