-- Summaries over all tenants read the rows of a period, where the other indexes begin with the tenant. Rows are written
-- about in the order of their times, so ranges of blocks will do: they cost ingest next to nothing.
create index usage_bucket_idx on analytics.usage using brin (bucket)
  with (pages_per_range = 32, autosummarize = on);
create index usage_totals_bucket_idx on analytics.usage_totals using brin (bucket)
  with (pages_per_range = 32, autosummarize = on);
create index usage_users_bucket_idx on analytics.usage_users using brin (bucket)
  with (pages_per_range = 32, autosummarize = on);
create index unpriced_models_bucket_idx on analytics.unpriced_models using brin (bucket)
  with (pages_per_range = 32, autosummarize = on);
create index refused_usage_bucket_idx on analytics.refused_usage using brin (bucket)
  with (pages_per_range = 32, autosummarize = on);
create index traces_any_ended_at_idx on analytics.traces using brin (ended_at) with (autosummarize = on);
