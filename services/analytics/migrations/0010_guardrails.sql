-- The findings of the guardrails of a run in its texts: counts by type, and no text; null without any.
alter table analytics.traces add column guardrails json;

-- The same of a refused request, for one that they blocked.
alter table analytics.refused_requests add column guardrails json;
