-- Runs as reported by events, their roll-ups, watermarks, and dead letters. A batch of events contains events of many
-- tenants, so the system role writes; tenants read.

-- The tenant whose rows a transaction of analytics_app may see. Policies call it in a subselect, so that it runs once
-- per statement instead of once per row.
create function analytics.current_tenant() returns uuid language plpgsql stable parallel safe as $$
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
revoke execute on function analytics.current_tenant() from public;
grant execute on function analytics.current_tenant() to analytics_app;

grant usage on schema analytics to analytics_app, analytics_system;
grant select on analytics.migrations to analytics_app, analytics_system;

--
-- Runs.
--

-- Numbers changes. With the transaction id it defines the order of `traces/follow`.
create sequence analytics.changes;
grant usage on sequence analytics.changes to analytics_system;

-- One row for each run: inserted at the start event and updated once at the end event, or inserted as ended if the end
-- event arrives first. The exact end of a run may come after an estimated one and replaces it, once, in the trace and
-- in the roll-ups. Rows are deleted after the retention of their tenant.
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
  -- Null for runs that no request of a client began.
  dialect text,
  -- The name of the client's program, from a closed list; null for the same runs.
  client text,
  request_id text not null,
  trace_id text not null,
  span_id text not null,
  -- Null for runs that no request with an API key began, such as embeddings of memory.
  api_key_id uuid,
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
  -- Whether a provider was called for the run. A run whose calls were all abandoned before they were sent does not
  -- count as a request.
  called boolean,
  -- The models of the calls that used tokens and have no price; null if the run is priced. After a fallback these may
  -- differ from the model that answered.
  unpriced_models text[],
  -- Whether the end of the run has replaced an estimated one: a further one does nothing.
  corrected boolean not null default false,
  -- Runs that were made with a key of the tenant's own for the provider: their costs are listed apart.
  own_key boolean not null default false,
  constraint traces_pkey primary key (id),
  constraint traces_ended_at_check check ((status = 'running') = (ended_at is null))
) partition by range (id);
create index traces_change_idx on analytics.traces (tenant_id, change_transaction, change_number);
create index traces_changed_at_idx on analytics.traces (tenant_id, changed_at);
create index traces_ended_at_idx on analytics.traces (tenant_id, ended_at);
-- For retention, which reads the rows of one tenant from the oldest on; ids are ordered by time.
create index traces_tenant_id_idx on analytics.traces (tenant_id, id);
-- For summaries, which read unpriced runs in the partial intervals at both ends of a period.
create index traces_unpriced_idx on analytics.traces (tenant_id, ended_at) where unpriced_models is not null;

alter table analytics.traces enable row level security;
alter table analytics.traces force row level security;
create policy traces_app_select on analytics.traces for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy traces_system_select on analytics.traces for select to analytics_system using (true);
create policy traces_system_insert on analytics.traces for insert to analytics_system with check (true);
create policy traces_system_update on analytics.traces for update to analytics_system using (true) with check (true);
create policy traces_system_delete on analytics.traces for delete to analytics_system using (true);
grant select on analytics.traces to analytics_app;
grant select, insert, update, delete on analytics.traces to analytics_system;

-- The smallest UUIDv7 of a time (RFC 9562 §5.7).
create function analytics.first_id_at(at timestamptz) returns uuid language sql immutable strict as $$
  select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Creates the partition of a month if it does not exist. A backup that reads traces for hours blocks it, and other
-- queries on traces queue behind the attempt, so it times out after 500 ms and is retried later.
create function analytics.ensure_partition(month date) returns void language plpgsql
  security definer set search_path = analytics, pg_temp set lock_timeout = '500ms' as $$
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
revoke execute on function analytics.ensure_partition(date) from public;
grant execute on function analytics.ensure_partition(date) to analytics_system;

-- Drops the oldest monthly partition that exceeds the maximum retention of any tenant (3,650 days) and returns its
-- name; null if there is none. The caller cannot choose the partition. Waits at most 500 ms for readers, because later
-- queries queue behind it.
create function analytics.drop_expired_partition() returns text language plpgsql
  security definer set search_path = analytics, pg_temp set lock_timeout = '500ms' as $$
declare
  name text;
begin
  -- Another replica may be calling this or creating a partition.
  if not pg_try_advisory_xact_lock(hashtext('analytics.ensure_partition')) then
    return null;
  end if;
  select relname into name
  from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent = 'analytics.traces'::regclass and relname ~ '^traces_\d{4}_\d{2}$'
    and to_date(substr(relname, 8), 'YYYY_MM') + interval '1 month'
        < (now() at time zone 'UTC') - (3650 + 31) * interval '1 day'
  order by relname
  limit 1;
  if name is not null then
    execute format('drop table analytics.%I', name);
  end if;
  return name;
end
$$;
revoke execute on function analytics.drop_expired_partition() from public;
grant execute on function analytics.drop_expired_partition() to analytics_system;

--
-- Roll-ups.
--

-- Roll-up of runs by the 15 minutes in which they ended. Every run is counted once, in one row. Rows are never deleted
-- while they count something, because bills depend on them.
create table analytics.usage (
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
  own_key_requests bigint not null default 0,
  own_key_cost_pico numeric(38, 0) not null default 0,
  constraint usage_key unique nulls not distinct
    (tenant_id, bucket, model, agent_id, provider, channel, dialect, client, user_id, api_key_id, session_id)
) with (fillfactor = 70);
-- For summaries of one user, such as those that users see: other users' runs are not read.
create index usage_user_id_idx on analytics.usage (tenant_id, user_id, bucket) where user_id is not null;

alter table analytics.usage enable row level security;
alter table analytics.usage force row level security;
create policy usage_app_select on analytics.usage for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy usage_system_select on analytics.usage for select to analytics_system using (true);
create policy usage_system_insert on analytics.usage for insert to analytics_system with check (true);
create policy usage_system_update on analytics.usage for update to analytics_system using (true) with check (true);
-- Rows of the roll-ups that count nothing any more are deleted, and no others. While a user is being deleted, the row
-- of the pseudonym may have no requests but the difference that a correction makes to a run in the row of the user.
create policy usage_system_delete on analytics.usage for delete to analytics_system using (
  requests = 0 and errors = 0 and cancelled = 0 and input_tokens = 0 and cached_input_tokens = 0 and output_tokens = 0
  and reasoning_tokens = 0 and tool_calls = 0 and timed_requests = 0 and duration_ms = 0 and cost_pico = 0
  and unpriced_requests = 0 and estimated_requests = 0 and estimated_cost_pico = 0 and own_key_requests = 0
  and own_key_cost_pico = 0
);
grant select on analytics.usage to analytics_app;
grant select, insert, update, delete on analytics.usage to analytics_system;

-- `usage` without users, keys and sessions: enough for most summaries, with far fewer rows.
create table analytics.usage_totals (
  tenant_id uuid not null,
  -- The start of the 15 minutes in which the runs ended.
  bucket timestamptz not null,
  agent_id uuid,
  model text not null,
  provider text not null,
  channel text not null,
  dialect text,
  client text,
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
  own_key_requests bigint not null default 0,
  own_key_cost_pico numeric(38, 0) not null default 0,
  constraint usage_totals_key unique nulls not distinct
    (tenant_id, bucket, model, agent_id, provider, channel, dialect, client)
) with (fillfactor = 70);

alter table analytics.usage_totals enable row level security;
alter table analytics.usage_totals force row level security;
create policy usage_totals_app_select on analytics.usage_totals for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy usage_totals_system_select on analytics.usage_totals for select to analytics_system using (true);
create policy usage_totals_system_insert on analytics.usage_totals for insert to analytics_system with check (true);
create policy usage_totals_system_update on analytics.usage_totals for update to analytics_system
  using (true) with check (true);
create policy usage_totals_system_delete on analytics.usage_totals for delete to analytics_system using (
  requests = 0 and errors = 0 and cancelled = 0 and input_tokens = 0 and cached_input_tokens = 0 and output_tokens = 0
  and reasoning_tokens = 0 and tool_calls = 0 and timed_requests = 0 and duration_ms = 0 and cost_pico = 0
  and unpriced_requests = 0 and estimated_requests = 0 and estimated_cost_pico = 0 and own_key_requests = 0
  and own_key_cost_pico = 0
);
grant select on analytics.usage_totals to analytics_app;
grant select, insert, update, delete on analytics.usage_totals to analytics_system;

-- Unpriced models of the runs that are counted in the rows of `usage` that have this key, whatever their session.
create table analytics.unpriced_models (
  tenant_id uuid not null,
  bucket timestamptz not null,
  agent_id uuid,
  model text not null,
  provider text not null,
  channel text not null,
  dialect text,
  client text,
  user_id text,
  api_key_id uuid,
  unpriced_model text not null,
  constraint unpriced_models_key unique nulls not distinct
    (tenant_id, bucket, model, agent_id, provider, channel, dialect, client, user_id, api_key_id, unpriced_model)
);

alter table analytics.unpriced_models enable row level security;
alter table analytics.unpriced_models force row level security;
create policy unpriced_models_app_select on analytics.unpriced_models for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy unpriced_models_system_select on analytics.unpriced_models for select to analytics_system using (true);
create policy unpriced_models_system_insert on analytics.unpriced_models for insert to analytics_system
  with check (true);
create policy unpriced_models_system_update on analytics.unpriced_models for update to analytics_system
  using (true) with check (true);
create policy unpriced_models_system_delete on analytics.unpriced_models for delete to analytics_system using (true);
grant select on analytics.unpriced_models to analytics_app;
grant select, insert, delete on analytics.unpriced_models to analytics_system;
grant update (user_id) on analytics.unpriced_models to analytics_system;

--
-- Users as sets of bits, so that counting the users of a month needs no list of them.
--

-- Counts the user numbers assigned in a tenant. A few may be unused.
create table analytics.user_counters (
  tenant_id uuid constraint user_counters_pkey primary key,
  taken integer not null
);

alter table analytics.user_counters enable row level security;
alter table analytics.user_counters force row level security;
create policy user_counters_system_select on analytics.user_counters for select to analytics_system using (true);
create policy user_counters_system_insert on analytics.user_counters for insert to analytics_system with check (true);
create policy user_counters_system_update on analytics.user_counters for update to analytics_system
  using (true) with check (true);
grant select, insert, update on analytics.user_counters to analytics_system;

-- User numbers from 0 on, without large gaps: bit positions in the sets.
create table analytics.users (
  tenant_id uuid not null,
  user_id text not null,
  number integer not null,
  constraint users_pkey primary key (tenant_id, user_id)
);

alter table analytics.users enable row level security;
alter table analytics.users force row level security;
create policy users_app_select on analytics.users for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy users_system_select on analytics.users for select to analytics_system using (true);
create policy users_system_insert on analytics.users for insert to analytics_system with check (true);
create policy users_system_update on analytics.users for update to analytics_system using (true) with check (true);
grant select on analytics.users to analytics_app;
grant select, insert on analytics.users to analytics_system;
grant update (user_id) on analytics.users to analytics_system;

-- The set that has one user.
create function analytics.user_bit(number integer) returns bit(1024) language sql immutable strict parallel safe as $$
  select set_bit(repeat('0', 1024)::bit(1024), number % 1024, 1)
$$;

-- The users of a row of `usage_totals`: one bit set for each 1,024 user numbers with at least one user.
create table analytics.usage_users (
  tenant_id uuid not null,
  bucket timestamptz not null,
  agent_id uuid,
  model text not null,
  provider text not null,
  channel text not null,
  dialect text,
  client text,
  -- User n is bit n % 1024 of chunk n / 1024.
  chunk integer not null,
  users bit(1024) not null,
  constraint usage_users_key unique nulls not distinct
    (tenant_id, bucket, model, agent_id, provider, channel, dialect, client, chunk)
) with (fillfactor = 70);

alter table analytics.usage_users enable row level security;
alter table analytics.usage_users force row level security;
create policy usage_users_app_select on analytics.usage_users for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy usage_users_system_select on analytics.usage_users for select to analytics_system using (true);
create policy usage_users_system_insert on analytics.usage_users for insert to analytics_system with check (true);
create policy usage_users_system_update on analytics.usage_users for update to analytics_system
  using (true) with check (true);
create policy usage_users_system_delete on analytics.usage_users for delete to analytics_system
  using (bit_count(users) = 0);
grant select on analytics.usage_users to analytics_app;
grant select, insert, update, delete on analytics.usage_users to analytics_system;

--
-- Events.
--

-- Everything that a partition of a source published before this time is counted.
create table analytics.watermarks (
  source text not null,
  partition integer not null,
  partitions integer not null,
  watermark timestamptz not null,
  constraint watermarks_pkey primary key (source, partition)
);

alter table analytics.watermarks enable row level security;
alter table analytics.watermarks force row level security;
-- Watermarks reveal nothing about runs, so every tenant may see them.
create policy watermarks_app_select on analytics.watermarks for select to analytics_app using (true);
create policy watermarks_system_select on analytics.watermarks for select to analytics_system using (true);
create policy watermarks_system_insert on analytics.watermarks for insert to analytics_system with check (true);
create policy watermarks_system_update on analytics.watermarks for update to analytics_system
  using (true) with check (true);
grant select on analytics.watermarks to analytics_app;
grant select, insert, update on analytics.watermarks to analytics_system;

-- Events that could not be read or stored, with the reason. They may contain anything, so no tenant can see them. Kept
-- for a month.
create table analytics.dead_letters (
  id uuid constraint dead_letters_pkey primary key,
  received_at timestamptz not null default now(),
  -- The topic, partition and offset; or the sending service.
  origin text not null,
  reason text not null,
  payload bytea not null
);
create index dead_letters_received_at_idx on analytics.dead_letters (received_at);

alter table analytics.dead_letters enable row level security;
alter table analytics.dead_letters force row level security;
create policy dead_letters_system_select on analytics.dead_letters for select to analytics_system using (true);
create policy dead_letters_system_insert on analytics.dead_letters for insert to analytics_system with check (true);
create policy dead_letters_system_delete on analytics.dead_letters for delete to analytics_system using (true);
-- The age of dead letters, never their content.
grant select (id, received_at), insert, delete on analytics.dead_letters to analytics_system;

do $$
begin
  execute format('create policy dead_letters_owner_select on analytics.dead_letters for select to %I using (true)',
    current_user);
  execute format('create policy dead_letters_owner_delete on analytics.dead_letters for delete to %I using (true)',
    current_user);
end
$$;

-- Deletes up to `most` dead letters that contain all of these texts, and returns how many. No role of the service reads
-- the content of dead letters; this function does, as the owner of the table.
create function analytics.delete_dead_letters_with(texts text[], most integer) returns bigint language sql
  security definer set search_path = analytics, pg_temp as $$
  with deleted as (
    delete from dead_letters where id in (
      select id from dead_letters
      where (select bool_and(position(convert_to(wanted, 'UTF8') in payload) > 0) from unnest(texts) as wanted)
      limit most)
    returning id
  )
  select count(*) from deleted
$$;
revoke execute on function analytics.delete_dead_letters_with(text[], integer) from public;
grant execute on function analytics.delete_dead_letters_with(text[], integer) to analytics_system;

--
-- Deletions of the data of users.
--

-- Users whose data were deleted. Runs that began before the deletion lose their texts, and a random pseudonym replaces
-- the user. Kept for 30 days, for events that come late: those get no user.
create table analytics.forgotten_users (
  tenant_id uuid not null,
  -- SHA-256 of tenant and user: this table is no list of the users who left.
  user_digest bytea not null,
  requested_at timestamptz not null,
  -- The time at which this service first heard of the deletion.
  created_at timestamptz not null default now(),
  -- Null once all stored runs have it, so that nothing links it to the user.
  pseudonym text,
  -- Progress: when the current pass through the traces began, and the last trace that it read.
  pass_began_at timestamptz,
  last_trace uuid not null default '00000000-0000-0000-0000-000000000000',
  -- Progress: the roll-ups before this time are done; null until the traces are.
  usage_until timestamptz,
  constraint forgotten_users_pkey primary key (tenant_id, user_digest)
);
create index forgotten_users_created_at_idx on analytics.forgotten_users (created_at);

alter table analytics.forgotten_users enable row level security;
alter table analytics.forgotten_users force row level security;
create policy forgotten_users_system_select on analytics.forgotten_users for select to analytics_system using (true);
create policy forgotten_users_system_insert on analytics.forgotten_users for insert to analytics_system
  with check (true);
create policy forgotten_users_system_update on analytics.forgotten_users for update to analytics_system
  using (true) with check (true);
create policy forgotten_users_system_delete on analytics.forgotten_users for delete to analytics_system using (true);
grant select, insert, update, delete on analytics.forgotten_users to analytics_system;

-- Sums of whole days, which a job makes once a day is over: summaries of a tenant with many agents would otherwise add up
-- about as many rows as it has runs. Summaries read them only for days that are settled.

-- The days of tenants that are over and count something, from midnight to midnight in UTC.
create table analytics.settled_days (
  tenant_id uuid not null,
  day timestamptz not null,
  -- `changed`: rows of `settled_usage` are not to be used, and are deleted. `open`: being added up. `settled`: complete.
  -- `small`: the other roll-ups are read, because the day has few rows or too many.
  state text not null default 'changed' constraint settled_days_state_check
    check (state in ('changed', 'open', 'settled', 'small')),
  -- The hours of an open day that are added up.
  hours smallint not null default 0,
  -- The midnight of the tenant's time zone within the day, where rows of all kinds but `hour` end; null for none.
  cut timestamptz,
  -- The hours that were added up with rows that end at `cut`, and with rows by session. If these are
  -- fewer than `hours`, neither counts.
  cut_hours smallint not null default 0,
  constraint settled_days_pkey primary key (tenant_id, day)
);
create index settled_days_due_idx on analytics.settled_days (tenant_id, day desc) where state in ('changed', 'open');

alter table analytics.settled_days enable row level security;
alter table analytics.settled_days force row level security;
create policy settled_days_app_select on analytics.settled_days for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy settled_days_system_select on analytics.settled_days for select to analytics_system using (true);
create policy settled_days_system_insert on analytics.settled_days for insert to analytics_system with check (true);
create policy settled_days_system_update on analytics.settled_days for update to analytics_system
  using (true) with check (true);
grant select on analytics.settled_days to analytics_app;
grant select, insert, update on analytics.settled_days to analytics_system;

-- The sums of settled days. A kind of rows has some of the columns that `usage` groups runs by, and null in the others.
create table analytics.settled_usage (
  tenant_id uuid not null,
  -- `hour`: without agents. `agent`, `api_key`: with these. All three have model, provider, channel, dialect and client.
  -- `user`: with users alone.
  kind text not null,
  -- The start of an hour; of the other kinds that of a day, or of a part of it if the day has very many runs.
  bucket timestamptz not null,
  agent_id uuid,
  model text,
  provider text,
  channel text,
  dialect text,
  client text,
  user_id text,
  api_key_id uuid,
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
  unpriced_models text[],
  -- The users of rows of the kinds `hour` and `agent`, as in `usage_users`.
  chunks integer[],
  users bit(1024)[],
  -- The kind `session` has it, and the user.
  session_id text,
  constraint settled_usage_kind_check check (kind in ('hour', 'agent', 'api_key', 'user', 'session'))
);
create index settled_usage_idx on analytics.settled_usage (tenant_id, kind, bucket);

alter table analytics.settled_usage enable row level security;
alter table analytics.settled_usage force row level security;
create policy settled_usage_app_select on analytics.settled_usage for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy settled_usage_system_select on analytics.settled_usage for select to analytics_system using (true);
create policy settled_usage_system_insert on analytics.settled_usage for insert to analytics_system with check (true);
create policy settled_usage_system_delete on analytics.settled_usage for delete to analytics_system using (true);
grant select on analytics.settled_usage to analytics_app;
grant select, insert, delete on analytics.settled_usage to analytics_system;

-- A count into a day that is over makes that day `changed`, whichever release of the service counts. It holds the row of
-- the day until it has committed, and the job opens the day by the same row: so all that was counted before is added up,
-- and all that is counted later changes the day again.
create function analytics.change_day() returns trigger language plpgsql as $$
begin
  insert into analytics.settled_days as known (tenant_id, day)
  values (new.tenant_id, date_bin('1 day', new.bucket, 'epoch'))
  on conflict (tenant_id, day) do update set state = 'changed', hours = 0, cut_hours = 0 where known.state <> 'changed';
  return null;
end
$$;
revoke execute on function analytics.change_day() from public;

-- The job opens a day two hours after its end. No transaction lasts for the hour between the two.
create trigger usage_change_day after insert or update on analytics.usage for each row
  when (new.bucket < date_bin('1 day', now() - interval '1 hour', 'epoch'))
  execute function analytics.change_day();
