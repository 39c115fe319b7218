-- The models of the calls of a run that used tokens and have no price. After a fallback these may differ from the model
-- that answered.

-- Null if the run is priced.
alter table analytics.traces add column unpriced_models text[];
-- For runs that are already counted, the roll-ups have only the model of the run. Forced row-level security would hide
-- all rows from an owner without superuser rights.
alter table analytics.traces no force row level security;
update analytics.traces set unpriced_models = array[coalesce(model, request_model)] where not priced;
alter table analytics.traces force row level security;
-- For summaries, which read unpriced runs in the partial intervals at both ends of a period.
create index traces_unpriced_idx on analytics.traces (tenant_id, ended_at) where unpriced_models is not null;

-- Unpriced models of the runs that are counted in a row of `usage`.
create table analytics.unpriced_models (
  tenant_id uuid not null,
  bucket timestamptz not null,
  agent_id uuid,
  model text not null,
  provider text not null,
  channel text not null,
  user_id text,
  api_key_id uuid not null,
  unpriced_model text not null,
  constraint unpriced_models_key unique nulls not distinct
    (tenant_id, bucket, model, agent_id, provider, channel, user_id, api_key_id, unpriced_model)
);

-- Blocks counting until this migration commits. Stop replicas of the previous release before it runs.
lock table analytics.usage in access exclusive mode;
alter table analytics.usage no force row level security;
insert into analytics.unpriced_models
select tenant_id, bucket, agent_id, model, provider, channel, user_id, api_key_id, model
from analytics.usage where unpriced_requests > 0;
alter table analytics.usage force row level security;

alter table analytics.unpriced_models enable row level security;
alter table analytics.unpriced_models force row level security;
create policy unpriced_models_app_select on analytics.unpriced_models for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy unpriced_models_system_select on analytics.unpriced_models for select to analytics_system using (true);
create policy unpriced_models_system_insert on analytics.unpriced_models for insert to analytics_system
  with check (true);
grant select on analytics.unpriced_models to analytics_app, analytics_system;
grant insert on analytics.unpriced_models to analytics_system;
