-- Runs, their attempts, the instances that process them, and the outbox of run events.

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

-- A process of the chat service. `dead_at` fences it: a dead instance cannot start runs, and its runs are ended as
-- interrupted.
create table chat.instances (
  id uuid constraint instances_pkey primary key,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  dead_at timestamptz
);

-- One accepted client request. Committed before the first byte is sent to a provider.
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

-- For the reaper, which searches for runs of dead instances among the few runs in progress.
create index runs_started_idx on chat.runs (instance_id) where status = 'started';

-- One provider call. Committed before its first byte is sent.
create table chat.attempts (
  id uuid constraint attempts_pkey primary key,
  run_id uuid not null constraint attempts_run_id_fkey references chat.runs (id) on delete cascade,
  tenant_id uuid not null,
  number integer not null,
  provider text not null,
  model text not null,
  upstream_model text not null,
  -- Estimated tokens of the prompt (bytes / 4), used if the provider never reports usage. Stored for the reaper, which
  -- does not have the prompt.
  input_tokens_guess bigint not null,
  started_at timestamptz not null default now(),
  status text not null default 'started'
    constraint attempts_status_check check (status in ('started', 'ok', 'error', 'cancelled', 'not_sent', 'interrupted')),
  -- Milliseconds from the arrival of the run to this call.
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

-- Written in the transaction that starts or ends a run; published and deleted by the outbox relay. Refers to the run,
-- from whose rows the event is built: storing the event here as well cost two fifths of the database time of metering.
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

-- Metering commits runs of many tenants together, so the system role does all writes.
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
