-- Runs, their attempts, the instances that work on them, and the outbox of events about them.

create function chat.current_tenant() returns uuid language plpgsql stable as $$
declare
  tenant text := current_setting('gatehouse.tenant_id', true);
begin
  -- A reused connection holds '' after a transaction-local setting ended; both mean that nobody said whose rows.
  if tenant is null or tenant = '' then
    raise exception 'no tenant is set for this transaction' using errcode = 'insufficient_privilege';
  end if;
  return tenant::uuid;
end
$$;

-- One process of the chat service. `dead_at` fences it: a dead instance starts no run, and what it left is reaped.
create table chat.instances (
  id uuid constraint instances_pkey primary key,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  dead_at timestamptz
);

-- One accepted client request. Committed before the first byte goes to a provider.
create table chat.runs (
  id uuid constraint runs_pkey primary key,
  tenant_id uuid not null,
  instance_id uuid not null,
  status text not null default 'started'
    constraint runs_status_check check (status in ('started', 'ok', 'error', 'cancelled', 'interrupted')),
  operation text not null constraint runs_operation_check check (operation in ('chat', 'embeddings')),
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
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  duration_ms integer,
  time_to_first_token_ms integer,
  provider text,
  model text,
  response_model text,
  input_tokens bigint,
  cached_input_tokens bigint,
  output_tokens bigint,
  reasoning_tokens bigint,
  usage_estimated boolean,
  error_type text,
  error_message text,
  output_preview text
) with (fillfactor = 80);

-- The reaper looks for runs of dead instances among the few that are under way.
create index runs_started_idx on chat.runs (instance_id) where status = 'started';

-- One call of a provider. Committed before its first byte leaves.
create table chat.attempts (
  id uuid constraint attempts_pkey primary key,
  run_id uuid not null constraint attempts_run_id_fkey references chat.runs (id) on delete cascade,
  tenant_id uuid not null,
  number integer not null,
  provider text not null,
  model text not null,
  upstream_model text not null,
  -- What the prompt comes to if the provider never says: bytes / 4, for the reaper, who has no prompt.
  input_tokens_guess bigint not null,
  started_at timestamptz not null default now(),
  status text not null default 'started'
    constraint attempts_status_check check (status in ('started', 'ok', 'error', 'cancelled', 'not_sent', 'interrupted')),
  -- From the run's arrival to this call.
  offset_ms integer,
  duration_ms integer,
  time_to_first_token_ms integer,
  http_status integer,
  error_code text,
  response_model text,
  input_tokens bigint,
  cached_input_tokens bigint,
  output_tokens bigint,
  reasoning_tokens bigint,
  usage_estimated boolean
) with (fillfactor = 80);
create index attempts_run_id_idx on chat.attempts (run_id);

-- Written in the transaction that starts or ends a run; published and deleted by the relay. It points at the run, from
-- whose rows the event is made: carrying the event's JSON here as well cost two fifths of metering's database time.
create table chat.outbox (
  id bigint generated always as identity constraint outbox_pkey primary key,
  tenant_id uuid not null,
  run_id uuid not null,
  type text not null,
  occurred_at timestamptz not null default now()
);

alter table chat.instances enable row level security;
alter table chat.instances force row level security;
alter table chat.runs enable row level security;
alter table chat.runs force row level security;
alter table chat.attempts enable row level security;
alter table chat.attempts force row level security;
alter table chat.outbox enable row level security;
alter table chat.outbox force row level security;

-- Metering groups the runs of many tenants into one commit, so all writing is the system role's.
create policy instances_system_select on chat.instances for select to chat_system using (true);
create policy instances_system_insert on chat.instances for insert to chat_system with check (true);
create policy instances_system_update on chat.instances for update to chat_system using (true) with check (true);
create policy instances_system_delete on chat.instances for delete to chat_system using (true);
create policy runs_system_select on chat.runs for select to chat_system using (true);
create policy runs_system_insert on chat.runs for insert to chat_system with check (true);
create policy runs_system_update on chat.runs for update to chat_system using (true) with check (true);
create policy attempts_system_select on chat.attempts for select to chat_system using (true);
create policy attempts_system_insert on chat.attempts for insert to chat_system with check (true);
create policy attempts_system_update on chat.attempts for update to chat_system using (true) with check (true);
create policy outbox_system_insert on chat.outbox for insert to chat_system with check (true);

grant usage on schema chat to chat_app, chat_system;
grant select, insert, update, delete on chat.instances to chat_system;
grant select, insert, update on chat.runs, chat.attempts to chat_system;
grant insert on chat.outbox to chat_system;
grant select on chat.migrations to chat_app, chat_system;
