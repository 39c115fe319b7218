-- The findings of the guardrails of a run in its texts: counts by type, and no text; null without any.
alter table analytics.traces add column guardrails json;
