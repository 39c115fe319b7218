-- An exact cost may replace a higher estimate that was charged in an earlier bucket: the bucket of the difference may
-- then be negative.
alter table tenant.budget_spend drop constraint budget_spend_cost_check;
