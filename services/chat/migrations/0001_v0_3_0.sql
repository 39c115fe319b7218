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
-- How a value begins: the version, and the id of the key that has wrapped its data key. Null for none.
create function chat.sealed_by(sealed bytea) returns bytea language sql immutable parallel safe
return case when octet_length(sealed) > 2 then substring(sealed from 1 for 2 + get_byte(substring(sealed from 2 for 1), 0)) end;

-- Statements of a tenant's request run as chat_app, in turns by tenant, and see the rows of that tenant only.
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
  released_at timestamptz,
  -- Set when another instance has taken over the log of a dead one: nothing is appended to it any more.
  log_taken_at timestamptz
);

alter table chat.instances enable row level security;
alter table chat.instances force row level security;
-- A repeated call of Complete takes over from a dead replica.
create policy instances_app_select on chat.instances for select to chat_app using (true);
create policy instances_system_select on chat.instances for select to chat_system using (true);
create policy instances_system_insert on chat.instances for insert to chat_system with check (true);
create policy instances_system_update on chat.instances for update to chat_system using (true) with check (true);
create policy instances_system_delete on chat.instances for delete to chat_system using (true);
grant select (id, dead_at) on chat.instances to chat_app;
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

-- Runs as a log: every instance appends the starts and ends of its runs, many in one row, and publishes the ends itself.
-- It deletes rows of no use seldom, many in one statement.
create table chat.run_log (
  instance_id uuid not null,
  -- Counts up from 1. A row whose commit is in doubt is sent again under its number.
  sequence bigint not null,
  -- Taken once the transaction has its id: watermarks require that no transaction writes an earlier time.
  written_at timestamptz not null,
  -- Rows up to this one have nothing left to publish.
  published bigint not null,
  -- Starts and further calls of runs, one of each array. A further call has no run; a start that was written before, and
  -- would otherwise be deleted with its row, has its time.
  start_ids uuid[] not null,
  tenant_ids uuid[] not null,
  started_at timestamptz[] not null,
  charges text[] not null,
  runs text[] not null,
  attempts text[] not null,
  -- Ends of runs. Without an ending, the event is in the outbox or nowhere: the run is over for this log.
  end_ids uuid[] not null,
  endings text[] not null,
  -- Whether it has endings.
  publishes boolean not null,
  constraint run_log_pkey primary key (instance_id, sequence)
);
-- Texts of a kilobyte that live for seconds are not worth compressing.
alter table chat.run_log
  alter column runs set storage external,
  alter column attempts set storage external,
  alter column endings set storage external,
  alter column start_ids set storage external,
  alter column tenant_ids set storage external,
  alter column end_ids set storage external;

alter table chat.run_log enable row level security;
alter table chat.run_log force row level security;
create policy run_log_system_select on chat.run_log for select to chat_system using (true);
create policy run_log_system_insert on chat.run_log for insert to chat_system with check (true);
create policy run_log_system_update on chat.run_log for update to chat_system using (true) with check (true);
create policy run_log_system_delete on chat.run_log for delete to chat_system using (true);
grant select, insert, delete on chat.run_log to chat_system;
-- For users whose data are deleted.
grant update (runs, endings) on chat.run_log to chat_system;

do $$
begin
  if current_setting('server_version_num')::integer >= 170000 then
    grant maintain on chat.run_log to chat_system;
  end if;
end
$$;

-- The runs in the log: under way without an end, ended with one. `ending` is null if its event is not to be published
-- from here.
create view chat.logged_runs with (security_invoker = true) as
select s.instance_id, s.id, s.tenant_id, s.started_at, s.charges, s.run, a.attempts,
       e.id is not null as ended, e.written_at as ended_at, e.ending
from (
  select distinct on (l.instance_id, t.id) l.instance_id, t.id, t.tenant_id,
         coalesce(t.started_at, l.written_at) as started_at, t.charges, t.run
  from chat.run_log l cross join unnest(l.start_ids, l.tenant_ids, l.started_at, l.charges, l.runs)
    as t (id, tenant_id, started_at, charges, run)
  where t.run is not null
  order by l.instance_id, t.id, l.sequence desc
) s join (
  select distinct on (l.instance_id, t.id) l.instance_id, t.id, t.attempts
  from chat.run_log l cross join unnest(l.start_ids, l.attempts) as t (id, attempts)
  order by l.instance_id, t.id, l.sequence desc
) a on a.instance_id = s.instance_id and a.id = s.id left join (
  select l.instance_id, l.written_at, t.id, case when l.sequence > m.published then t.ending end as ending
  from chat.run_log l
    join (select instance_id, max(published) as published from chat.run_log group by instance_id) m
      on m.instance_id = l.instance_id
    cross join unnest(l.end_ids, l.endings) as t (id, ending)
) e on e.instance_id = s.instance_id and e.id = s.id;
grant select on chat.logged_runs to chat_system;

-- All runs under way: those of living processes, and those that a reaper will end.
create view chat.runs_under_way with (security_invoker = true) as
select instance_id, id, tenant_id, started_at, run, attempts from chat.logged_runs where not ended
union all
select instance_id, id, tenant_id, started_at, run, attempts from chat.open_runs;
grant select on chat.runs_under_way to chat_system;

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
create policy outbox_app_insert on chat.outbox for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy outbox_system_select on chat.outbox for select to chat_system using (true);
create policy outbox_system_insert on chat.outbox for insert to chat_system with check (true);
create policy outbox_system_update on chat.outbox for update to chat_system using (true) with check (true);
create policy outbox_system_delete on chat.outbox for delete to chat_system using (true);
grant insert on chat.outbox to chat_app;
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
create policy run_costs_app_insert on chat.run_costs for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy run_costs_system_select on chat.run_costs for select to chat_system using (true);
create policy run_costs_system_insert on chat.run_costs for insert to chat_system with check (true);
create policy run_costs_system_delete on chat.run_costs for delete to chat_system using (true);
grant insert on chat.run_costs to chat_app;
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
  -- Deletions of users' data spare the calls that began after them.
  created_at timestamptz not null default now(),
  constraint completions_pkey primary key (tenant_id, call_id)
);
create unique index completions_claim_id_idx on chat.completions (claim_id);
create index completions_expires_at_idx on chat.completions (expires_at);
create index completions_user_id_idx on chat.completions (tenant_id, user_id);

alter table chat.completions enable row level security;
alter table chat.completions force row level security;
create policy completions_app_select on chat.completions for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy completions_app_insert on chat.completions for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy completions_app_update on chat.completions for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
create policy completions_app_delete on chat.completions for delete to chat_app
  using (tenant_id = chat.current_tenant());
create policy completions_system_select on chat.completions for select to chat_system using (true);
create policy completions_system_insert on chat.completions for insert to chat_system with check (true);
create policy completions_system_update on chat.completions for update to chat_system using (true) with check (true);
create policy completions_system_delete on chat.completions for delete to chat_system using (true);
grant select, insert, update, delete on chat.completions to chat_app;
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
-- Few keys have values, so lists of one key's are short when they are read.
create index responses_sealed_by_idx on chat.responses (chat.sealed_by(content), id);

alter table chat.responses enable row level security;
alter table chat.responses force row level security;
create policy responses_app_select on chat.responses for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy responses_app_insert on chat.responses for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy responses_app_delete on chat.responses for delete to chat_app
  using (tenant_id = chat.current_tenant());
create policy responses_system_select on chat.responses for select to chat_system using (true);
create policy responses_system_insert on chat.responses for insert to chat_system with check (true);
create policy responses_system_update on chat.responses for update to chat_system using (true) with check (true);
create policy responses_system_delete on chat.responses for delete to chat_system using (true);
grant select, insert, delete on chat.responses to chat_app;
grant select, insert, delete on chat.responses to chat_system;
-- Responses, files and batches live longer than a key of the ring: the data keys of their values are wrapped again by the
-- first key of the ring.
grant update (content, ready, expires_at) on chat.responses to chat_system;

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
create policy forgotten_users_app_select on chat.forgotten_users for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy forgotten_users_system_select on chat.forgotten_users for select to chat_system using (true);
create policy forgotten_users_system_insert on chat.forgotten_users for insert to chat_system with check (true);
create policy forgotten_users_system_update on chat.forgotten_users for update to chat_system
  using (true) with check (true);
create policy forgotten_users_system_delete on chat.forgotten_users for delete to chat_system using (true);
grant select on chat.forgotten_users to chat_app;
grant select, insert, update, delete on chat.forgotten_users to chat_system;

--
-- Items, thoughts and seals of conversations; files and batches.
--

-- Items of kept responses by their ids, so that a request may name one in place of sending it.
create table chat.response_items (
  response_id uuid not null
    constraint response_items_response_id_fkey references chat.responses on delete cascade,
  tenant_id uuid not null,
  -- 64 bits of a hash of the user and of the item's id.
  item_key bigint not null,
  constraint response_items_pkey primary key (response_id, item_key)
);
-- The newest response that has an item comes first: ids of responses ascend with time.
create index response_items_item_key_idx on chat.response_items (tenant_id, item_key, response_id);

alter table chat.response_items enable row level security;
alter table chat.response_items force row level security;
create policy response_items_app_select on chat.response_items for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy response_items_app_insert on chat.response_items for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy response_items_system_select on chat.response_items for select to chat_system using (true);
create policy response_items_system_insert on chat.response_items for insert to chat_system with check (true);
grant select, insert on chat.response_items to chat_app;
grant select, insert on chat.response_items to chat_system;

-- Thoughts of models for clients whose API has no place for them, by the call of a tool that they came before. Kept for 24
-- hours.
create table chat.thoughts (
  tenant_id uuid not null,
  -- As the client gets it.
  call_id text not null,
  -- Null for a key without a user.
  user_id text,
  -- Encrypted; null where calls of two answers have the id.
  content bytea,
  -- Size of the content.
  bytes integer not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '24 hours',
  constraint thoughts_pkey primary key (tenant_id, call_id)
);
create index thoughts_expires_at_idx on chat.thoughts (expires_at);
create index thoughts_user_id_idx on chat.thoughts (tenant_id, user_id);
-- For the bound of each tenant.
create index thoughts_created_at_idx on chat.thoughts (tenant_id, created_at, bytes);

alter table chat.thoughts enable row level security;
alter table chat.thoughts force row level security;
create policy thoughts_app_select on chat.thoughts for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy thoughts_app_insert on chat.thoughts for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy thoughts_app_update on chat.thoughts for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
create policy thoughts_system_select on chat.thoughts for select to chat_system using (true);
create policy thoughts_system_insert on chat.thoughts for insert to chat_system with check (true);
create policy thoughts_system_update on chat.thoughts for update to chat_system using (true) with check (true);
create policy thoughts_system_delete on chat.thoughts for delete to chat_system using (true);
grant select, insert on chat.thoughts to chat_app;
grant update (user_id, content, bytes, created_at, expires_at) on chat.thoughts to chat_app;
grant select, insert, update, delete on chat.thoughts to chat_system;

-- The state of deployments and keys as each replica sees it, for the operators' view. A replica replaces its row every few
-- seconds, so nothing of it is worth a write to the log: a crash empties the table.
create unlogged table chat.provider_reports (
  instance_id uuid constraint provider_reports_pkey primary key,
  reported_at timestamptz not null default now(),
  -- JSON. Text, because only chat reads it.
  report text not null
);
create index provider_reports_reported_at_idx on chat.provider_reports (reported_at);

alter table chat.provider_reports enable row level security;
alter table chat.provider_reports force row level security;
create policy provider_reports_system_select on chat.provider_reports for select to chat_system using (true);
create policy provider_reports_system_insert on chat.provider_reports for insert to chat_system with check (true);
create policy provider_reports_system_update on chat.provider_reports for update to chat_system using (true) with check (true);
create policy provider_reports_system_delete on chat.provider_reports for delete to chat_system using (true);
grant select, insert, update, delete on chat.provider_reports to chat_system;

-- The makers of seals of thoughts that clients got as they are, so that no other provider gets them. Clients go on with
-- conversations after days, so they are kept for 30 days, as long as responses at most.
create table chat.seals (
  tenant_id uuid not null,
  -- 128 bits of a hash of the end of the seal.
  digest bytea not null,
  maker text not null,
  -- Null for a key without a user.
  user_id text,
  -- Size of a row with its indexes.
  bytes integer not null default 300,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '30 days',
  constraint seals_pkey primary key (tenant_id, digest)
);
create index seals_expires_at_idx on chat.seals (expires_at);
create index seals_user_id_idx on chat.seals (tenant_id, user_id);
-- For the bound of each tenant.
create index seals_created_at_idx on chat.seals (tenant_id, created_at, bytes);

alter table chat.seals enable row level security;
alter table chat.seals force row level security;
create policy seals_app_select on chat.seals for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy seals_system_select on chat.seals for select to chat_system using (true);
create policy seals_system_insert on chat.seals for insert to chat_system with check (true);
create policy seals_system_delete on chat.seals for delete to chat_system using (true);
grant select on chat.seals to chat_app;
grant select, insert, delete on chat.seals to chat_system;

-- The last good list of prices behind each URL of a catalogue, for replicas that can't fetch it.
create table chat.price_lists (
  -- SHA-256 of the URL, which may have a secret in its query.
  source bytea constraint price_lists_pkey primary key,
  -- The signature, which is empty without a key for it, a line feed and the list.
  list text not null,
  kept_at timestamptz not null default now()
);

alter table chat.price_lists enable row level security;
alter table chat.price_lists force row level security;
create policy price_lists_system_select on chat.price_lists for select to chat_system using (true);
create policy price_lists_system_insert on chat.price_lists for insert to chat_system with check (true);
create policy price_lists_system_update on chat.price_lists for update to chat_system using (true) with check (true);
create policy price_lists_system_delete on chat.price_lists for delete to chat_system using (true);
grant select, insert, update, delete on chat.price_lists to chat_system;

-- Files with the requests and the results of batches. Their content is at the provider; clients know them by ids of ours.
create table chat.files (
  id uuid constraint files_pkey primary key,
  tenant_id uuid not null,
  -- Null for a key without a user.
  user_id text,
  -- batch for requests, batch_output for results.
  purpose text not null,
  -- The key that the provider knows the file by.
  provider text not null,
  -- The name of the key in the provider's pool; null for its one key.
  key_id text,
  -- The tenant's own key; null for the platform's.
  own_key_id uuid,
  provider_file_id text,
  -- JSON: the model of its requests, and the most that they may use; null for results.
  requests text,
  -- Encrypted: how the provider describes it.
  content bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- It is no longer shown, and the provider's is deleted next.
  deleted_at timestamptz,
  -- Failed attempts to delete the provider's.
  tries integer not null default 0,
  -- The time of the next attempt.
  due_at timestamptz
);
create index files_list_idx on chat.files (tenant_id, coalesce(user_id, ''), id);
create index files_expires_at_idx on chat.files (expires_at) where deleted_at is null;
create index files_due_at_idx on chat.files (due_at) where deleted_at is not null;
create index files_provider_idx on chat.files (provider, tenant_id, due_at) where deleted_at is not null;
create index files_sealed_by_idx on chat.files (chat.sealed_by(content), id);

alter table chat.files enable row level security;
alter table chat.files force row level security;
create policy files_app_select on chat.files for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy files_app_insert on chat.files for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy files_app_update on chat.files for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
create policy files_app_delete on chat.files for delete to chat_app
  using (tenant_id = chat.current_tenant());
create policy files_system_select on chat.files for select to chat_system using (true);
create policy files_system_insert on chat.files for insert to chat_system with check (true);
create policy files_system_update on chat.files for update to chat_system using (true) with check (true);
create policy files_system_delete on chat.files for delete to chat_system using (true);
grant select, insert, delete on chat.files to chat_app;
grant update (provider_file_id, requests, content, deleted_at, due_at) on chat.files to chat_app;
grant select, insert, delete on chat.files to chat_system;
grant update (user_id, provider_file_id, requests, content, deleted_at, tries, due_at) on chat.files to chat_system;

-- Batches of requests at providers. A batch is one run: its end writes the event of the run, once.
create table chat.batches (
  -- The id of its run.
  id uuid constraint batches_pkey primary key,
  tenant_id uuid not null,
  -- Null for a key without a user.
  user_id text,
  -- SHA-256 of tenant and user; null without a user.
  user_digest bytea,
  api_key_id uuid not null,
  -- As in files.
  provider text not null,
  key_id text,
  own_key_id uuid,
  -- Null until the provider has said that it has the batch.
  provider_batch_id text,
  input_file_id uuid not null,
  provider_file_id text not null,
  output_file_id uuid,
  error_file_id uuid,
  -- Id in the catalogue, and the provider's name.
  model text not null,
  upstream_model text not null,
  requests integer not null,
  -- The most that its requests may use.
  reserved_input_tokens bigint not null,
  reserved_tokens bigint not null,
  -- Charged to its budgets at the start; the end charges the difference.
  reserved_pico bigint not null,
  -- As in open_runs.
  charges text,
  run text not null,
  -- Encrypted: how the provider describes it; null until it has.
  content bytea,
  -- The tenant's retention when it began.
  days integer not null,
  created_at timestamptz not null default now(),
  -- Since when the provider can't be asked about it; null while it can.
  failing_since timestamptz,
  polls integer not null default 0,
  -- The time at which it is asked about next. The replica that does so moves it ahead, and sets the lease.
  due_at timestamptz not null,
  lease_id uuid,
  ended_at timestamptz,
  -- After its end.
  expires_at timestamptz,
  -- Whether its user was deleted: it is no longer shown, and is cancelled.
  forgotten boolean not null default false,
  -- SHA-256 of the request of a batch, with its Idempotency-Key; null without one.
  request_digest bytea,
  -- JSON: the prices at which a batch was started. Null where its model had none.
  price text,
  -- Requests of a batch whose cost only the provider knows: those with attachments, or with the provider's own tools.
  unmeasured integer not null default 0,
  -- The API of the provider that has a batch: openai or anthropic. Anthropic's batches come with their requests: their
  -- input_file_id is their own id, and their provider_file_id is empty.
  api text not null default 'openai',
  -- Encrypted: the client's name of the first request, which the provider knows by the id of the batch. Null for OpenAI's.
  first_id bytea
);
create index batches_list_idx on chat.batches (tenant_id, coalesce(user_id, ''), id);
create index batches_due_at_idx on chat.batches (tenant_id, due_at) where ended_at is null;
create index batches_input_file_id_idx on chat.batches (input_file_id) where ended_at is null;
-- No two batches have one of a provider, so none is charged twice.
create unique index batches_provider_batch_id_idx on chat.batches (provider, provider_batch_id);
create index batches_expires_at_idx on chat.batches (expires_at) where ended_at is not null;
create index batches_request_digest_idx on chat.batches (tenant_id, request_digest) where request_digest is not null;
-- Tenants take turns at each provider.
create index batches_provider_idx on chat.batches (provider, tenant_id, due_at) where ended_at is null;
create index batches_sealed_by_idx on chat.batches (chat.sealed_by(content), id);
create index batches_first_id_sealed_by_idx on chat.batches (chat.sealed_by(first_id), id) where first_id is not null;

alter table chat.batches enable row level security;
alter table chat.batches force row level security;
create policy batches_app_select on chat.batches for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy batches_app_insert on chat.batches for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy batches_app_update on chat.batches for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
create policy batches_app_delete on chat.batches for delete to chat_app
  using (tenant_id = chat.current_tenant());
create policy batches_system_select on chat.batches for select to chat_system using (true);
create policy batches_system_insert on chat.batches for insert to chat_system with check (true);
create policy batches_system_update on chat.batches for update to chat_system using (true) with check (true);
create policy batches_system_delete on chat.batches for delete to chat_system using (true);
grant select, insert, delete on chat.batches to chat_app;
grant update (provider_batch_id, content, failing_since, polls, due_at, lease_id, expires_at) on chat.batches to chat_app;
grant select, insert, delete on chat.batches to chat_system;
grant update (user_id, run, provider_batch_id, output_file_id, error_file_id, content, first_id, failing_since, polls, due_at,
  lease_id, ended_at, expires_at, forgotten) on chat.batches to chat_system;

-- Requests with an Idempotency-Key.
create table chat.idempotency_records (
  -- The claim of the request that processes this record; a request that takes over an expired record sets a new id.
  id uuid constraint idempotency_records_pkey primary key,
  tenant_id uuid not null,
  key text not null,
  -- SHA-256 of the route and its path parameters.
  target bytea not null constraint idempotency_records_target_check check (octet_length(target) = 32),
  -- SHA-256 of everything that a repeated request must have in common with the first.
  fingerprint bytea not null constraint idempotency_records_fingerprint_check check (octet_length(fingerprint) = 32),
  -- The encrypted response; null while the request runs.
  response bytea,
  -- The end of the claim or, with a response, of its replay.
  expires_at timestamptz not null,
  constraint idempotency_records_use_key unique nulls not distinct (tenant_id, key, target)
);
create index idempotency_records_expires_at_idx on chat.idempotency_records (expires_at);

alter table chat.idempotency_records enable row level security;
alter table chat.idempotency_records force row level security;
create policy idempotency_records_app_select on chat.idempotency_records for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy idempotency_records_app_insert on chat.idempotency_records for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy idempotency_records_app_update on chat.idempotency_records for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
create policy idempotency_records_app_delete on chat.idempotency_records for delete to chat_app
  using (tenant_id = chat.current_tenant());
create policy idempotency_records_system_select on chat.idempotency_records for select to chat_system using (true);
create policy idempotency_records_system_insert on chat.idempotency_records for insert to chat_system with check (true);
create policy idempotency_records_system_update on chat.idempotency_records for update to chat_system
  using (true) with check (true);
create policy idempotency_records_system_delete on chat.idempotency_records for delete to chat_system using (true);
grant select, insert, delete on chat.idempotency_records to chat_app;
grant update (id, fingerprint, response, expires_at) on chat.idempotency_records to chat_app;
grant select, insert, delete on chat.idempotency_records to chat_system;
grant update (id, fingerprint, response, expires_at) on chat.idempotency_records to chat_system;

-- Requests of a tenant in its last minute with any, by which the gateway calls a provider about files and batches.
create table chat.minute_counts (
  tenant_id uuid not null,
  kind text not null,
  minute timestamptz not null,
  count integer not null,
  constraint minute_counts_pkey primary key (tenant_id, kind)
) with (fillfactor = 50);

alter table chat.minute_counts enable row level security;
alter table chat.minute_counts force row level security;
create policy minute_counts_app_select on chat.minute_counts for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy minute_counts_app_insert on chat.minute_counts for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy minute_counts_app_update on chat.minute_counts for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
create policy minute_counts_system_select on chat.minute_counts for select to chat_system
  using (true);
create policy minute_counts_system_insert on chat.minute_counts for insert to chat_system
  with check (true);
create policy minute_counts_system_update on chat.minute_counts for update to chat_system
  using (true) with check (true);
grant select, insert on chat.minute_counts to chat_app;
grant update (minute, count) on chat.minute_counts to chat_app;
grant select, insert on chat.minute_counts to chat_system;
grant update (minute, count) on chat.minute_counts to chat_system;

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
