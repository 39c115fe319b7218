-- Roll-up of the runs with groups, for figures by group. A run with two groups is in one row, to count once
-- in totals; `usage_groups` has the groups of a row. Like rows of `usage`, rows are never deleted while they count
-- something.

create table analytics.grouped_usage (
  tenant_id uuid not null,
  -- The start of the 15 minutes in which the runs ended.
  bucket timestamptz not null,
  agent_id uuid,
  model text not null,
  provider text not null,
  channel text not null,
  dialect text,
  client text,
  user_id text,
  api_key_id uuid,
  session_id text,
  -- SHA-256 of the groups.
  groups_sha256 bytea not null,
  requests bigint not null,
  errors bigint not null,
  cancelled bigint not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  tool_calls bigint not null,
  timed_requests bigint not null,
  duration_ms bigint not null,
  cost_pico numeric(38, 0) not null,
  unpriced_requests bigint not null,
  estimated_requests bigint not null,
  estimated_cost_pico numeric(38, 0) not null,
  own_key_requests bigint not null,
  own_key_cost_pico numeric(38, 0) not null,
  constraint grouped_usage_key unique nulls not distinct
    (tenant_id, bucket, model, agent_id, provider, channel, dialect, client, user_id, api_key_id, session_id, groups_sha256)
) with (fillfactor = 70);
create index grouped_usage_groups_sha256_idx on analytics.grouped_usage (tenant_id, groups_sha256, bucket);

alter table analytics.grouped_usage enable row level security;
alter table analytics.grouped_usage force row level security;
create policy grouped_usage_app_select on analytics.grouped_usage for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy grouped_usage_system_select on analytics.grouped_usage for select to analytics_system using (true);
create policy grouped_usage_system_insert on analytics.grouped_usage for insert to analytics_system with check (true);
create policy grouped_usage_system_update on analytics.grouped_usage for update to analytics_system
  using (true) with check (true);
create policy grouped_usage_system_delete on analytics.grouped_usage for delete to analytics_system using (
  requests = 0 and errors = 0 and cancelled = 0 and input_tokens = 0 and cached_input_tokens = 0 and output_tokens = 0
  and reasoning_tokens = 0 and tool_calls = 0 and timed_requests = 0 and duration_ms = 0 and cost_pico = 0
  and unpriced_requests = 0 and estimated_requests = 0 and estimated_cost_pico = 0 and own_key_requests = 0
  and own_key_cost_pico = 0
);
grant select on analytics.grouped_usage to analytics_app;
grant select, insert, update, delete on analytics.grouped_usage to analytics_system;

-- The groups of each `groups_sha256` of a tenant.
create table analytics.usage_groups (
  tenant_id uuid not null,
  groups_sha256 bytea not null,
  name text not null,
  folded text not null generated always as (lower(name)) stored,
  constraint usage_groups_pkey primary key (tenant_id, groups_sha256, name)
);
create index usage_groups_folded_idx on analytics.usage_groups (tenant_id, folded);

alter table analytics.usage_groups enable row level security;
alter table analytics.usage_groups force row level security;
create policy usage_groups_app_select on analytics.usage_groups for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy usage_groups_system_select on analytics.usage_groups for select to analytics_system using (true);
create policy usage_groups_system_insert on analytics.usage_groups for insert to analytics_system with check (true);
grant select on analytics.usage_groups to analytics_app;
grant select, insert on analytics.usage_groups to analytics_system;

-- Daily roll-ups of days with groups have rows of the kind `group`, by groups, user, model, provider, channel, dialect and
-- client, also for the runs without groups. Unchecked: the rows of before are of the other kinds.
alter table analytics.settled_usage add column groups_sha256 bytea;
alter table analytics.settled_usage drop constraint settled_usage_kind_check;
alter table analytics.settled_usage add constraint settled_usage_kind_check
  check (kind in ('hour', 'agent', 'api_key', 'user', 'session', 'group')) not valid;

-- The hours with rows of the kind `group`. If these are fewer than `hours`, they do not count.
alter table analytics.settled_days add column group_hours smallint not null default 0;

-- Version 0.3.0 adds up days without these rows.
create function analytics.reset_group_hours() returns trigger language plpgsql as $$
begin
  new.group_hours := 0;
  return new;
end
$$;
revoke execute on function analytics.reset_group_hours() from public;

create trigger settled_days_reset_group_hours before update on analytics.settled_days for each row
  when (new.hours = 0 and old.group_hours > 0)
  execute function analytics.reset_group_hours();

-- Version 0.3.0 does not know rows of `grouped_usage`, so it does not complete the deletion of a user who has some.
create function analytics.refuse_early_deletion() returns trigger language plpgsql as $$
begin
  if current_setting('gatehouse.groups', true) is distinct from 'on' and exists (
    select from analytics.grouped_usage where tenant_id = old.tenant_id and user_id = old.user_id) then
    raise exception 'the user has rows of groups' using errcode = 'serialization_failure';
  end if;
  return new;
end
$$;
revoke execute on function analytics.refuse_early_deletion() from public;

create trigger users_refuse_early_deletion before update on analytics.users for each row
  when (new.user_id <> old.user_id)
  execute function analytics.refuse_early_deletion();
