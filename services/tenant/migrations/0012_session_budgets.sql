-- Budgets that requests set for their sessions.
alter table tenant.policy_counters
  -- For the budget of a session, in pico-USD: the least amount that a request has set. Null for counters of policies.
  add column session_budget numeric;
