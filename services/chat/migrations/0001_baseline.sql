-- Runs in progress, events that are not yet published, and charges that are not yet settled. Analytics stores the rest.

create function chat.current_tenant() returns uuid language plpgsql stable as $$
declare
  tenant text := current_setting('gatehouse.tenant_id', true);
begin
  -- On a reused connection the value is '' after a transaction-local setting ended; treat it as not set.
  if tenant is null or tenant = '' then
    raise exception 'no tenant is set for this transaction' using errcode = 'insufficient_privilege';
  end if;
  return tenant::uuid;
end
$$;

grant usage on schema chat to chat_app, chat_system;
grant select on chat.migrations to chat_app, chat_system;

--
-- Runs. Metering commits runs of many tenants together, so the system role does all writes.
--

-- Replicas of chat. `dead_at` fences one: a dead instance cannot start runs, and its runs are ended as interrupted.
create table chat.instances (
  id uuid constraint instances_pkey primary key,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  dead_at timestamptz,
  -- The time at which all budget amounts held by a dead instance were released.
  released_at timestamptz
);

alter table chat.instances enable row level security;
alter table chat.instances force row level security;
create policy instances_system_select on chat.instances for select to chat_system using (true);
create policy instances_system_insert on chat.instances for insert to chat_system with check (true);
create policy instances_system_update on chat.instances for update to chat_system using (true) with check (true);
create policy instances_system_delete on chat.instances for delete to chat_system using (true);
grant select, insert, update, delete on chat.instances to chat_system;

-- Accepted client requests that have not ended. A run is one row, including its calls, while it lasts; the row is
-- committed before the first byte is sent to a provider. Its end deletes the row and writes its event, in one
-- statement.
create table chat.open_runs (
  id uuid constraint open_runs_pkey primary key,
  tenant_id uuid not null,
  instance_id uuid not null,
  started_at timestamptz not null default now(),
  -- The budgets in which it was reserved, as JSON: [{subjectId, windowStart}]; null if none.
  charges text,
  -- JSON: the data of the start event without its time. Text instead of json, because only chat reads it.
  run text not null,
  -- JSON: its provider calls in order, the last one without an end. Replaced as a whole by each call.
  attempts text not null,
  -- Whether the user of the run was forgotten while it lasted: its end publishes no text.
  forgotten boolean not null default false
) with (toast_tuple_target = 8160);

alter table chat.open_runs enable row level security;
alter table chat.open_runs force row level security;
create policy open_runs_system_select on chat.open_runs for select to chat_system using (true);
create policy open_runs_system_insert on chat.open_runs for insert to chat_system with check (true);
create policy open_runs_system_update on chat.open_runs for update to chat_system using (true) with check (true);
create policy open_runs_system_delete on chat.open_runs for delete to chat_system using (true);
grant select, insert, update, delete on chat.open_runs to chat_system;

-- Runs that were ended with estimated usage because their process was taken for dead. If it was not, its own end of the
-- run replaces the estimate, once. Kept for a day.
create table chat.interrupted_runs (
  id uuid constraint interrupted_runs_pkey primary key,
  tenant_id uuid not null,
  instance_id uuid not null,
  started_at timestamptz not null,
  -- As in open_runs.
  charges text,
  -- The estimate that was charged; null without a price.
  cost_pico bigint,
  interrupted_at timestamptz not null default now()
);
create index interrupted_runs_interrupted_at_idx on chat.interrupted_runs (interrupted_at);

alter table chat.interrupted_runs enable row level security;
alter table chat.interrupted_runs force row level security;
create policy interrupted_runs_system_select on chat.interrupted_runs for select to chat_system using (true);
create policy interrupted_runs_system_insert on chat.interrupted_runs for insert to chat_system with check (true);
create policy interrupted_runs_system_delete on chat.interrupted_runs for delete to chat_system using (true);
grant select, insert, delete on chat.interrupted_runs to chat_system;

--
-- Events of runs.
--

-- The partition of a tenant's events. The last digits of a UUIDv7 are random.
create function chat.partition_of(tenant uuid) returns integer language sql immutable strict as $$
  select (('x' || right(tenant::text, 8))::bit(32)::bigint % 8)::integer
$$;

-- Events of runs that are not yet published. Written in the transaction that starts or ends a run; published and
-- deleted by the outbox relay, which reads them by partition of the tenant.
create table chat.outbox (
  id bigint generated always as identity constraint outbox_pkey primary key,
  partition integer generated always as (chat.partition_of(tenant_id)) stored,
  tenant_id uuid not null,
  run_id uuid not null,
  occurred_at timestamptz not null default now(),
  started_at timestamptz not null,
  -- Null for a start event.
  ended_at timestamptz,
  -- JSON: the data of the event without the times, which are from the database.
  data text not null,
  -- Whether the event replaces an end that was published before.
  corrects boolean not null default false
) with (toast_tuple_target = 8160);
-- For reading the oldest entries of a partition, however many entries other partitions have.
create index outbox_partition_idx on chat.outbox (partition, id);

alter table chat.outbox enable row level security;
alter table chat.outbox force row level security;
create policy outbox_system_select on chat.outbox for select to chat_system using (true);
create policy outbox_system_insert on chat.outbox for insert to chat_system with check (true);
create policy outbox_system_update on chat.outbox for update to chat_system using (true) with check (true);
create policy outbox_system_delete on chat.outbox for delete to chat_system using (true);
grant select, insert, delete on chat.outbox to chat_system;
grant update (data) on chat.outbox to chat_system;

-- Events that could not be published and runs in progress that could not be read, with the reason. Kept for 30 days, at
-- most 1,000.
create table chat.outbox_dead_letters (
  id bigint generated always as identity constraint outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table chat.outbox_dead_letters enable row level security;
alter table chat.outbox_dead_letters force row level security;
create policy outbox_dead_letters_system_select on chat.outbox_dead_letters
  for select to chat_system using (true);
create policy outbox_dead_letters_system_insert on chat.outbox_dead_letters
  for insert to chat_system with check (true);
create policy outbox_dead_letters_system_delete on chat.outbox_dead_letters
  for delete to chat_system using (true);
grant select, insert, delete on chat.outbox_dead_letters to chat_system;

-- Rows of open_runs and outbox live for seconds. Chat vacuums the tables itself, because autovacuum runs once a minute,
-- when dead rows of a busy minute far outnumber live ones. PostgreSQL before 17 has no MAINTAIN privilege, so there
-- only autovacuum runs.
do $$
begin
  if current_setting('server_version_num')::integer >= 170000 then
    grant maintain on chat.open_runs, chat.outbox to chat_system;
  end if;
end
$$;

--
-- Costs in pico-USD (10^-12 USD), as integers. Charges to budgets are written at the end of a run, summed, sent to the
-- tenant service and deleted.
--

-- Charges of ended runs to budgets.
create table chat.run_costs (
  id bigint generated always as identity constraint run_costs_pkey primary key,
  tenant_id uuid not null,
  -- The instance that reserved the run.
  holder_id uuid not null,
  -- As in open_runs.
  charges text not null,
  cost_pico bigint not null
);

alter table chat.run_costs enable row level security;
alter table chat.run_costs force row level security;
create policy run_costs_system_select on chat.run_costs for select to chat_system using (true);
create policy run_costs_system_insert on chat.run_costs for insert to chat_system with check (true);
create policy run_costs_system_delete on chat.run_costs for delete to chat_system using (true);
grant select, insert, delete on chat.run_costs to chat_system;

-- Summed costs of many runs, as sent to the tenant service, which charges each settlement once.
create table chat.settlements (
  id uuid constraint settlements_pkey primary key default gen_random_uuid(),
  tenant_id uuid not null,
  holder_id uuid not null,
  charges text not null,
  cost_pico numeric not null
);

alter table chat.settlements enable row level security;
alter table chat.settlements force row level security;
create policy settlements_system_select on chat.settlements for select to chat_system using (true);
create policy settlements_system_insert on chat.settlements for insert to chat_system with check (true);
create policy settlements_system_delete on chat.settlements for delete to chat_system using (true);
grant select, insert, delete on chat.settlements to chat_system;

--
-- Completions for other services, and deletions of users.
--

-- Answers of the RPC Complete, so that a repeated call gets the answer instead of a second run. Kept for 24 hours.
create table chat.completions (
  tenant_id uuid not null,
  call_id uuid not null,
  -- The call that works on the answer, or did. A call that takes over an abandoned row sets a new one.
  claim_id uuid not null,
  -- The process of that call. The row of a dead one can be taken over.
  instance_id uuid not null,
  -- SHA-256 of everything that defines the request.
  fingerprint bytea not null,
  user_id text,
  -- Encrypted; null while the call is in progress. Written in the transaction that ends its run.
  answer bytea,
  -- Whether a tool was called that must not be called again: then the call is not worked on a second time.
  acted boolean not null default false,
  expires_at timestamptz not null,
  constraint completions_pkey primary key (tenant_id, call_id)
);
create unique index completions_claim_id_idx on chat.completions (claim_id);
create index completions_expires_at_idx on chat.completions (expires_at);
create index completions_user_id_idx on chat.completions (tenant_id, user_id);

alter table chat.completions enable row level security;
alter table chat.completions force row level security;
create policy completions_system_select on chat.completions for select to chat_system using (true);
create policy completions_system_insert on chat.completions for insert to chat_system with check (true);
create policy completions_system_update on chat.completions for update to chat_system using (true) with check (true);
create policy completions_system_delete on chat.completions for delete to chat_system using (true);
grant select, insert, update, delete on chat.completions to chat_system;

-- Responses that clients may read and go on from. The content is written before the end of the run, and the row is ready
-- in the transaction of that end; one that never gets ready is deleted within an hour.
create table chat.responses (
  -- The id of its run.
  id uuid constraint responses_pkey primary key,
  tenant_id uuid not null,
  -- Null for a key without a user.
  user_id text,
  -- The response that it went on from.
  previous_id uuid,
  -- The provider of the answer, which alone can read its encrypted thoughts.
  provider text not null,
  -- Encrypted: the items of its input, and the response.
  content bytea not null,
  -- Size of the content.
  bytes integer not null,
  ready boolean not null default false,
  -- The tenant's retention when it was written.
  days integer not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '1 hour'
);
create index responses_expires_at_idx on chat.responses (expires_at);
create index responses_user_id_idx on chat.responses (tenant_id, user_id);
-- For the bound of each tenant.
create index responses_created_at_idx on chat.responses (tenant_id, created_at, bytes);

alter table chat.responses enable row level security;
alter table chat.responses force row level security;
create policy responses_system_select on chat.responses for select to chat_system using (true);
create policy responses_system_insert on chat.responses for insert to chat_system with check (true);
create policy responses_system_update on chat.responses for update to chat_system using (true) with check (true);
create policy responses_system_delete on chat.responses for delete to chat_system using (true);
grant select, insert, delete on chat.responses to chat_system;
grant update (ready, expires_at) on chat.responses to chat_system;

-- Users whose data were deleted: what they did before the deletion gets no text and no user id any more, however late
-- it is written. Kept for 30 days.
create table chat.forgotten_users (
  tenant_id uuid not null,
  -- SHA-256 of tenant and user: this table is no list of the users who left.
  user_digest bytea not null,
  requested_at timestamptz not null,
  -- The time at which this service first heard of the deletion.
  created_at timestamptz not null default now(),
  constraint forgotten_users_pkey primary key (tenant_id, user_digest)
);
create index forgotten_users_created_at_idx on chat.forgotten_users (created_at);

alter table chat.forgotten_users enable row level security;
alter table chat.forgotten_users force row level security;
create policy forgotten_users_system_select on chat.forgotten_users for select to chat_system using (true);
create policy forgotten_users_system_insert on chat.forgotten_users for insert to chat_system with check (true);
create policy forgotten_users_system_update on chat.forgotten_users for update to chat_system
  using (true) with check (true);
create policy forgotten_users_system_delete on chat.forgotten_users for delete to chat_system using (true);
grant select, insert, update, delete on chat.forgotten_users to chat_system;

--
-- Alerts for subscribers.
--

-- Alerts for subscribers that are not yet published to webhook.
create table chat.alert_outbox (
  id bigint generated always as identity constraint alert_outbox_pkey primary key,
  partition integer not null,
  -- Null for events of the platform.
  tenant_id uuid,
  -- The time of the event.
  occurred_at timestamptz not null default now(),
  -- The event without its time.
  entry json not null
);
-- For reading the oldest entries of a partition, however many entries other partitions have.
create index alert_outbox_partition_idx on chat.alert_outbox (partition, id);

alter table chat.alert_outbox enable row level security;
alter table chat.alert_outbox force row level security;
create policy alert_outbox_system_select on chat.alert_outbox for select to chat_system using (true);
create policy alert_outbox_system_insert on chat.alert_outbox for insert to chat_system with check (true);
create policy alert_outbox_system_delete on chat.alert_outbox for delete to chat_system using (true);
grant select, insert, delete on chat.alert_outbox to chat_system;

-- Alerts that could not be published, with the reason. Kept for 30 days, at most 1,000.
create table chat.alert_outbox_dead_letters (
  id bigint generated always as identity constraint alert_outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table chat.alert_outbox_dead_letters enable row level security;
alter table chat.alert_outbox_dead_letters force row level security;
create policy alert_outbox_dead_letters_system_select on chat.alert_outbox_dead_letters
  for select to chat_system using (true);
create policy alert_outbox_dead_letters_system_insert on chat.alert_outbox_dead_letters
  for insert to chat_system with check (true);
create policy alert_outbox_dead_letters_system_delete on chat.alert_outbox_dead_letters
  for delete to chat_system using (true);
grant select, insert, delete on chat.alert_outbox_dead_letters to chat_system;
