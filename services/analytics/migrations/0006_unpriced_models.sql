-- The models of a run's calls that have tokens and no price: after a fallback that need not be the one that answered.

-- Null where the run is priced.
alter table analytics.traces add column unpriced_models text[];
-- Of what is counted already the roll-ups know the runs' own models only.
-- Forced row-level security would hide every row from an owner without superuser rights.
alter table analytics.traces no force row level security;
update analytics.traces set unpriced_models = array[coalesce(model, request_model)] where not priced;
alter table analytics.traces force row level security;
-- The runs at the two ends of a period are looked through for them, and are few or none.
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

-- Nothing may be counted between the copy and the end of this; replicas of the release before are stopped first.
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
