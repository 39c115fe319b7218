-- The findings of the guardrails of a run in its texts: counts by type, and no text; null without any.
alter table analytics.traces add column guardrails json;

-- The same of a refused request, for one that they blocked.
alter table analytics.refused_requests add column guardrails json;

-- Runs with an answer ended by a guardrail. Unchecked: the rows of before have the other states.
alter table analytics.traces drop constraint traces_status_check;
alter table analytics.traces add constraint traces_status_check
  check (status in ('running', 'ok', 'error', 'cancelled', 'interrupted', 'blocked')) not valid;

alter table analytics.usage add column blocked bigint not null default 0;
alter table analytics.usage_totals add column blocked bigint not null default 0;
alter table analytics.grouped_usage add column blocked bigint not null default 0;
alter table analytics.settled_usage add column blocked bigint not null default 0;
