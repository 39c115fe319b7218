-- Requests answered 4xx before any provider call. They are no runs: counted by quarter of an hour, after two days by day,
-- and up to a number of each hour kept one by one.

-- Events with counts that were added, so that none is added twice. Kept for longer than events may come late.
create table analytics.refused_batches (
  id uuid constraint refused_batches_pkey primary key,
  stored_at timestamptz not null default now()
);
create index refused_batches_stored_at_idx on analytics.refused_batches (stored_at);

alter table analytics.refused_batches enable row level security;
alter table analytics.refused_batches force row level security;
create policy refused_batches_system_select on analytics.refused_batches for select to analytics_system using (true);
create policy refused_batches_system_insert on analytics.refused_batches for insert to analytics_system
  with check (true);
create policy refused_batches_system_delete on analytics.refused_batches for delete to analytics_system using (true);
grant select, insert, delete on analytics.refused_batches to analytics_system;

create table analytics.refused_usage (
  tenant_id uuid not null,
  -- The start of the 15 minutes in which the requests were refused, or of the part of a day.
  bucket timestamptz not null,
  -- The code of the error.
  code text not null,
  -- A name in the catalogue; empty for others, and if the request was refused before it was read.
  model text not null,
  agent_id uuid,
  channel text not null,
  dialect text,
  client text,
  user_id text,
  api_key_id uuid,
  -- Whether this is a day's row, without dialect, client and user.
  is_day boolean not null default false,
  refused bigint not null,
  constraint refused_usage_key unique nulls not distinct
    (tenant_id, bucket, code, model, agent_id, channel, dialect, client, user_id, api_key_id, is_day)
) with (fillfactor = 70);
create index refused_usage_quarters_idx on analytics.refused_usage (tenant_id, bucket) where not is_day;
create index refused_usage_user_id_idx on analytics.refused_usage (tenant_id, user_id) where user_id is not null;

alter table analytics.refused_usage enable row level security;
alter table analytics.refused_usage force row level security;
create policy refused_usage_app_select on analytics.refused_usage for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy refused_usage_system_select on analytics.refused_usage for select to analytics_system using (true);
create policy refused_usage_system_insert on analytics.refused_usage for insert to analytics_system with check (true);
create policy refused_usage_system_update on analytics.refused_usage for update to analytics_system
  using (true) with check (true);
create policy refused_usage_system_delete on analytics.refused_usage for delete to analytics_system using (true);
grant select on analytics.refused_usage to analytics_app;
grant select, insert, update, delete on analytics.refused_usage to analytics_system;

-- Deleted after the retention of their tenant, and with the data of their user.
create table analytics.refused_requests (
  id uuid constraint refused_requests_pkey primary key,
  tenant_id uuid not null,
  refused_at timestamptz not null,
  code text not null,
  message text not null,
  operation text not null,
  channel text not null,
  dialect text,
  client text,
  request_id text not null,
  trace_id text not null,
  api_key_id uuid,
  user_id text,
  session_id text,
  agent_id uuid,
  request_model text not null
);
create index refused_requests_refused_at_idx on analytics.refused_requests (tenant_id, refused_at, id);
create index refused_requests_user_id_idx on analytics.refused_requests (tenant_id, user_id) where user_id is not null;

alter table analytics.refused_requests enable row level security;
alter table analytics.refused_requests force row level security;
create policy refused_requests_app_select on analytics.refused_requests for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy refused_requests_system_select on analytics.refused_requests for select to analytics_system using (true);
create policy refused_requests_system_insert on analytics.refused_requests for insert to analytics_system
  with check (true);
create policy refused_requests_system_delete on analytics.refused_requests for delete to analytics_system using (true);
grant select on analytics.refused_requests to analytics_app;
grant select, insert, delete on analytics.refused_requests to analytics_system;
