-- Runs as reported by events, their roll-ups, watermarks, and dead letters.

create function analytics.current_tenant() returns uuid language plpgsql stable as $$
declare
  current text := current_setting('gatehouse.tenant_id', true);
begin
  -- On a reused connection the value is '' after a transaction-local setting ended; treat it as not set.
  if current is null or current = '' then
    raise exception 'no tenant is set for this transaction' using errcode = 'insufficient_privilege';
  end if;
  return current::uuid;
end
$$;

-- Numbers changes. With the transaction id it defines the order of `traces/follow`.
create sequence analytics.changes;

-- One row for each run: inserted at the start event and updated once at the end event, or inserted as ended if the end
-- event arrives first.
create table analytics.traces (
  id uuid not null,
  tenant_id uuid not null,
  change_transaction xid8 not null default pg_current_xact_id(),
  change_number bigint not null default nextval('analytics.changes'),
  changed_at timestamptz not null default now(),
  status text not null constraint traces_status_check
    check (status in ('running', 'ok', 'error', 'cancelled', 'interrupted')),
  operation text not null,
  channel text not null,
  request_id text not null,
  trace_id text not null,
  span_id text not null,
  api_key_id uuid not null,
  user_id text,
  session_id text,
  agent_id uuid,
  request_model text not null,
  streamed boolean not null,
  input_preview text,
  started_at timestamptz not null,
  ended_at timestamptz,
  duration_ms integer,
  time_to_first_token_ms integer,
  provider text,
  model text,
  response_model text,
  input_tokens bigint,
  cached_input_tokens bigint,
  cache_write_tokens bigint,
  output_tokens bigint,
  reasoning_tokens bigint,
  tool_calls integer,
  cost_pico numeric(38, 0),
  priced boolean,
  usage_estimated boolean,
  error_type text,
  error_message text,
  output_preview text,
  -- The provider calls, as in the event.
  spans json,
  constraint traces_pkey primary key (id),
  constraint traces_ended_at_check check ((status = 'running') = (ended_at is null))
) partition by range (id);
create index traces_change_idx on analytics.traces (tenant_id, change_transaction, change_number);
create index traces_changed_at_idx on analytics.traces (tenant_id, changed_at);
create index traces_ended_at_idx on analytics.traces (tenant_id, ended_at);

-- The smallest UUIDv7 of a time (RFC 9562 §5.7).
create function analytics.first_id_at(at timestamptz) returns uuid language sql immutable strict as $$
  select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Creates the partition of a month if it does not exist.
create function analytics.ensure_partition(month date) returns void language plpgsql
  security definer set search_path = analytics, pg_temp as $$
declare
  name text := 'traces_' || to_char(month, 'YYYY_MM');
  first timestamptz := month::timestamp at time zone 'UTC';
  next timestamptz := (month + interval '1 month')::timestamp at time zone 'UTC';
begin
  if month <> date_trunc('month', month)::date then
    raise exception 'not the first day of a month: %', month;
  end if;
  -- Two replicas may call this at the same time.
  perform pg_advisory_xact_lock(hashtext('analytics.ensure_partition'));
  if to_regclass(format('analytics.%I', name)) is not null then
    return;
  end if;
  execute format('create table analytics.%I partition of analytics.traces for values from (%L) to (%L)
                  with (fillfactor = 80)', name, analytics.first_id_at(first), analytics.first_id_at(next));
  -- Accessible only through the parent and its policies.
  execute format('alter table analytics.%I enable row level security', name);
  execute format('alter table analytics.%I force row level security', name);
end
$$;

-- Roll-up of runs by the 15 minutes in which they ended. Every run is counted once, in one row.
create table analytics.usage (
  tenant_id uuid not null,
  -- Start of the 15 minutes in which the runs ended.
  bucket timestamptz not null,
  agent_id uuid,
  model text not null,
  provider text not null,
  channel text not null,
  user_id text,
  api_key_id uuid not null,
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
  constraint usage_key unique nulls not distinct
    (tenant_id, bucket, model, agent_id, provider, channel, user_id, api_key_id)
) with (fillfactor = 70);

-- Everything that a partition of a source published before this time is counted.
create table analytics.watermarks (
  source text not null,
  partition integer not null,
  partitions integer not null,
  watermark timestamptz not null,
  constraint watermarks_pkey primary key (source, partition)
);

-- Events that could not be read or stored, with the reason. They may contain anything, so no tenant can see them.
create table analytics.dead_letters (
  id uuid constraint dead_letters_pkey primary key,
  received_at timestamptz not null default now(),
  -- The topic, partition and offset; or the sending service.
  origin text not null,
  reason text not null,
  payload bytea not null
);

alter table analytics.traces enable row level security;
alter table analytics.traces force row level security;
alter table analytics.usage enable row level security;
alter table analytics.usage force row level security;
alter table analytics.watermarks enable row level security;
alter table analytics.watermarks force row level security;
alter table analytics.dead_letters enable row level security;
alter table analytics.dead_letters force row level security;

create policy traces_app_select on analytics.traces for select to analytics_app
  using (tenant_id = analytics.current_tenant());
create policy usage_app_select on analytics.usage for select to analytics_app
  using (tenant_id = analytics.current_tenant());
-- Watermarks reveal nothing about runs, so every tenant may see them.
create policy watermarks_app_select on analytics.watermarks for select to analytics_app using (true);

-- A batch of events contains events of many tenants.
create policy traces_system_select on analytics.traces for select to analytics_system using (true);
create policy traces_system_insert on analytics.traces for insert to analytics_system with check (true);
create policy traces_system_update on analytics.traces for update to analytics_system using (true) with check (true);
create policy usage_system_select on analytics.usage for select to analytics_system using (true);
create policy usage_system_insert on analytics.usage for insert to analytics_system with check (true);
create policy usage_system_update on analytics.usage for update to analytics_system using (true) with check (true);
create policy watermarks_system_select on analytics.watermarks for select to analytics_system using (true);
create policy watermarks_system_insert on analytics.watermarks for insert to analytics_system with check (true);
create policy watermarks_system_update on analytics.watermarks for update to analytics_system
  using (true) with check (true);
create policy dead_letters_system_insert on analytics.dead_letters for insert to analytics_system with check (true);

grant usage on schema analytics to analytics_app, analytics_system;
grant usage on sequence analytics.changes to analytics_system;
revoke execute on function analytics.current_tenant(), analytics.ensure_partition(date) from public;
grant execute on function analytics.current_tenant() to analytics_app;
grant execute on function analytics.ensure_partition(date) to analytics_system;
grant select on analytics.traces, analytics.usage, analytics.watermarks to analytics_app, analytics_system;
grant insert, update on analytics.traces, analytics.usage, analytics.watermarks to analytics_system;
grant insert on analytics.dead_letters to analytics_system;
grant select on analytics.migrations to analytics_app, analytics_system;
