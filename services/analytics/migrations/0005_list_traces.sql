-- For lists of a tenant's runs by their start, cost or duration. Runs without a cost or a duration count as 0. The last
-- two have the start, so that runs outside a period are skipped in the index.
create index traces_started_at_idx on analytics.traces (tenant_id, started_at, id);
create index traces_cost_idx on analytics.traces (tenant_id, (coalesce(cost_pico, 0)), id, started_at);
create index traces_duration_idx on analytics.traces (tenant_id, (coalesce(duration_ms, 0)), id, started_at);
