-- Webhooks that trigger agents, events that are sent to subscribers, and messaging channels.

-- The tenant whose rows a transaction of webhook_app may see. Raises an exception if none is set, so that a missing
-- setting causes an error instead of an empty result.
create function webhook.current_tenant() returns uuid language plpgsql stable as $$
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
revoke execute on function webhook.current_tenant() from public;
grant execute on function webhook.current_tenant() to webhook_app;

grant usage on schema webhook to webhook_app, webhook_system;
grant select on webhook.migrations to webhook_app, webhook_system;

-- How a value begins: the version, and the id of the key that has wrapped its data key. Null for none.
create function webhook.sealed_by(sealed bytea) returns bytea language sql immutable parallel safe
return case when octet_length(sealed) > 2 then substring(sealed from 1 for 2 + get_byte(substring(sealed from 2 for 1), 0)) end;

--
-- Transfers of endpoints and channels between tenants. A move changes the tenant of their rows: the policies whose
-- names end with _move.
--

-- Transfers that this service has a part in. Kept for 30 days after their end.
create table webhook.transfers (
  id uuid constraint transfers_pkey primary key,
  source_tenant_id uuid not null,
  target_tenant_id uuid not null,
  state text not null default 'open'
    constraint transfers_state_check check (state in ('open', 'committed', 'aborted')),
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create index transfers_ended_at_idx on webhook.transfers (ended_at);

alter table webhook.transfers enable row level security;
alter table webhook.transfers force row level security;
create policy transfers_app_select on webhook.transfers for select to webhook_app
  using (webhook.current_tenant() in (source_tenant_id, target_tenant_id));
create policy transfers_app_insert on webhook.transfers for insert to webhook_app
  with check (webhook.current_tenant() = source_tenant_id);
create policy transfers_app_update on webhook.transfers for update to webhook_app
  using (webhook.current_tenant() = source_tenant_id) with check (webhook.current_tenant() = source_tenant_id);
create policy transfers_system_select on webhook.transfers for select to webhook_system using (true);
create policy transfers_system_delete on webhook.transfers for delete to webhook_system
  using (ended_at < now() - interval '30 days');
grant select, insert on webhook.transfers to webhook_app;
grant update (state, ended_at) on webhook.transfers to webhook_app;
grant select, delete on webhook.transfers to webhook_system;

-- The tenant that the transfer of this transaction moves rows from; null without an open transfer. The tenant of a row
-- changes within an open transfer only, from its source to its target.
create function webhook.moving_from() returns uuid language sql stable as $$
  select source_tenant_id from webhook.transfers
  where id = nullif(current_setting('gatehouse.transfer_id', true), '')::uuid and state = 'open'
$$;
revoke execute on function webhook.moving_from() from public;
grant execute on function webhook.moving_from() to webhook_system;

-- The tenant that the transfer of this transaction moves rows to; null without an open transfer.
create function webhook.moving_to() returns uuid language sql stable as $$
  select target_tenant_id from webhook.transfers
  where id = nullif(current_setting('gatehouse.transfer_id', true), '')::uuid and state = 'open'
$$;
revoke execute on function webhook.moving_to() from public;
grant execute on function webhook.moving_to() to webhook_system;

-- Users whose data were deleted while a transfer was bringing their messages to another tenant: these are deleted there
-- too.
create table webhook.deleted_users (
  tenant_id uuid not null,
  -- SHA-256 of the tenant and the user id: the id itself is deleted too.
  user_hash bytea not null constraint deleted_users_user_hash_check check (octet_length(user_hash) = 32),
  requested_at timestamptz not null,
  noted_at timestamptz not null default now(),
  constraint deleted_users_pkey primary key (tenant_id, user_hash)
);

alter table webhook.deleted_users enable row level security;
alter table webhook.deleted_users force row level security;
create policy deleted_users_app_select on webhook.deleted_users for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy deleted_users_app_insert on webhook.deleted_users for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy deleted_users_app_update on webhook.deleted_users for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy deleted_users_app_delete on webhook.deleted_users for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
grant select, insert, delete on webhook.deleted_users to webhook_app;
grant update (requested_at, noted_at) on webhook.deleted_users to webhook_app;

--
-- Endpoints and their calls.
--

-- URLs that trigger agents. A deleted endpoint is hidden at once, and removed with its calls in batches.
create table webhook.endpoints (
  id uuid constraint endpoints_pkey primary key,
  tenant_id uuid not null,
  name text not null,
  agent_id uuid not null,
  scheme text not null,
  template text,
  mode text not null constraint endpoints_mode_check check (mode in ('sync', 'async')),
  callback_url text,
  rate_limit_per_minute integer,
  allowed_cidrs text[] not null,
  enabled boolean not null,
  -- Encrypted.
  secret bytea not null,
  -- Encrypted: the secret before the last rotation, which is accepted until this time.
  previous_secret bytea,
  previous_secret_expires_at timestamptz,
  -- Encrypted: signs results.
  callback_secret bytea not null,
  -- Encrypted: the callback secret before the last rotation. Until this time results are signed by both.
  previous_callback_secret bytea,
  previous_callback_secret_expires_at timestamptz,
  -- The beginning of the time in which every attempt for the callback URL has failed; null after a success.
  failing_since timestamptz,
  -- The transfer that keeps the endpoint as it is.
  locked_by uuid,
  -- Whether the endpoint is about to move: no call of it is worked on, and `async` calls are stored and wait.
  closed boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  constraint endpoints_previous_secret_check
    check ((previous_secret is null) = (previous_secret_expires_at is null)),
  constraint endpoints_previous_callback_secret_check
    check ((previous_callback_secret is null) = (previous_callback_secret_expires_at is null))
);
create index endpoints_tenant_id_idx on webhook.endpoints (tenant_id, id);
create index endpoints_deleted_at_idx on webhook.endpoints (deleted_at) where deleted_at is not null;
-- Finds secrets that are over.
create index endpoints_previous_secret_expires_at_idx on webhook.endpoints (previous_secret_expires_at)
  where previous_secret_expires_at is not null;
create index endpoints_previous_callback_secret_expires_at_idx
  on webhook.endpoints (previous_callback_secret_expires_at) where previous_callback_secret_expires_at is not null;
-- Few keys have values: an index has one entry for each list of them.
create index endpoints_secret_sealed_by_idx on webhook.endpoints (webhook.sealed_by(secret));
create index endpoints_previous_secret_sealed_by_idx on webhook.endpoints (webhook.sealed_by(previous_secret))
  where previous_secret is not null;
create index endpoints_callback_secret_sealed_by_idx on webhook.endpoints (webhook.sealed_by(callback_secret));
create index endpoints_previous_callback_secret_sealed_by_idx on webhook.endpoints (webhook.sealed_by(previous_callback_secret))
  where previous_callback_secret is not null;

alter table webhook.endpoints enable row level security;
alter table webhook.endpoints force row level security;
create policy endpoints_app_select on webhook.endpoints for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy endpoints_app_insert on webhook.endpoints for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy endpoints_app_update on webhook.endpoints for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy endpoints_app_delete on webhook.endpoints for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
-- A request names its endpoint, and with it the tenant.
create policy endpoints_system_select on webhook.endpoints for select to webhook_system using (true);
create policy endpoints_system_delete on webhook.endpoints for delete to webhook_system
  using (deleted_at is not null);
create policy endpoints_system_move on webhook.endpoints for update to webhook_system
  using (tenant_id = (select webhook.moving_from())) with check (tenant_id = (select webhook.moving_to()));
grant select, insert, delete on webhook.endpoints to webhook_app;
grant update (name, agent_id, template, mode, callback_url, rate_limit_per_minute, allowed_cidrs, enabled, secret,
  previous_secret, previous_secret_expires_at, updated_at, failing_since, callback_secret, deleted_at, locked_by,
  closed, previous_callback_secret, previous_callback_secret_expires_at) on webhook.endpoints to webhook_app;
grant select, delete on webhook.endpoints to webhook_system;
-- A move encrypts secrets for the target, and forgets a secret that is no longer accepted.
grant update (tenant_id, secret, previous_secret, callback_secret, locked_by, closed, previous_secret_expires_at,
  previous_callback_secret) on webhook.endpoints to webhook_system;

-- Genuine requests of an endpoint, with their results.
create table webhook.calls (
  id uuid constraint calls_pkey primary key,
  tenant_id uuid not null,
  endpoint_id uuid not null constraint calls_endpoint_id_fkey references webhook.endpoints on delete cascade,
  agent_id uuid not null,
  delivery_id text,
  body_sha256 bytea not null constraint calls_body_sha256_check check (octet_length(body_sha256) = 32),
  mode text not null constraint calls_mode_check check (mode in ('sync', 'async')),
  status text not null constraint calls_status_check check (status in ('queued', 'running', 'succeeded', 'failed')),
  user_id text,
  session_id text,
  metadata json not null,
  callback_url text,
  -- Encrypted: the request to the agent. Null once the call has finished.
  request bytea,
  -- Encrypted: the answer of the agent.
  result bytea,
  error json,
  -- A replica works on a `running` call until this time; afterwards any may take it over.
  claimed_until timestamptz,
  -- Names the claim, so that only its holder prolongs it.
  claim_id uuid,
  -- The number of gateways that had sent on what caused the call: endpoints that call each other must stop.
  hops smallint not null default 0,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  expires_at timestamptz not null
);
create index calls_endpoint_id_idx on webhook.calls (endpoint_id, id);
create index calls_expires_at_idx on webhook.calls (expires_at);
-- For the deletion of the data of a user.
create index calls_user_id_idx on webhook.calls (tenant_id, user_id) where user_id is not null;
-- Counts the calls of a tenant that wait, up to the most that may.
create index calls_queued_idx on webhook.calls (tenant_id) where status = 'queued';
-- For prolonging claims.
create index calls_claim_id_idx on webhook.calls (claim_id) where status = 'running';
create index calls_request_sealed_by_idx on webhook.calls (webhook.sealed_by(request)) where request is not null;
create index calls_result_sealed_by_idx on webhook.calls (webhook.sealed_by(result)) where result is not null;

alter table webhook.calls enable row level security;
alter table webhook.calls force row level security;
create policy calls_app_select on webhook.calls for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy calls_app_insert on webhook.calls for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy calls_app_update on webhook.calls for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy calls_app_delete on webhook.calls for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy calls_system_select on webhook.calls for select to webhook_system using (true);
-- Prolongs claims of any tenant.
create policy calls_system_update on webhook.calls for update to webhook_system
  using (status = 'running') with check (true);
create policy calls_system_delete on webhook.calls for delete to webhook_system
  using (expires_at <= now() or exists (
    select from webhook.endpoints as e where e.id = endpoint_id and e.deleted_at is not null));
create policy calls_system_move on webhook.calls for update to webhook_system
  using (tenant_id = (select webhook.moving_from())) with check (tenant_id = (select webhook.moving_to()));
grant select, insert, delete on webhook.calls to webhook_app;
grant update (status, request, result, error, claimed_until, claim_id, finished_at, agent_id)
  on webhook.calls to webhook_app;
grant select, delete on webhook.calls to webhook_system;
grant update (claimed_until, tenant_id, request, result) on webhook.calls to webhook_system;

-- Digests that a repeat of a request has in common with it: of its id, and of its body if no id is signed. They belong
-- to the tenant that has the endpoint.
create table webhook.call_keys (
  endpoint_id uuid not null constraint call_keys_endpoint_id_fkey references webhook.endpoints on delete cascade,
  kind text not null constraint call_keys_kind_check check (kind in ('id', 'body')),
  digest bytea not null constraint call_keys_digest_check check (octet_length(digest) = 32),
  -- Unused.
  tenant_id uuid,
  call_id uuid not null constraint call_keys_call_id_fkey references webhook.calls on delete cascade,
  expires_at timestamptz not null,
  constraint call_keys_pkey primary key (endpoint_id, kind, digest)
);
create index call_keys_call_id_idx on webhook.call_keys (call_id);

alter table webhook.call_keys enable row level security;
alter table webhook.call_keys force row level security;
create policy call_keys_app_select on webhook.call_keys for select to webhook_app
  using (exists (select from webhook.endpoints as owner where owner.id = endpoint_id));
create policy call_keys_app_insert on webhook.call_keys for insert to webhook_app
  with check (exists (select from webhook.endpoints as owner where owner.id = endpoint_id));
create policy call_keys_app_update on webhook.call_keys for update to webhook_app
  using (exists (select from webhook.endpoints as owner where owner.id = endpoint_id))
  with check (exists (select from webhook.endpoints as owner where owner.id = endpoint_id));
create policy call_keys_app_delete on webhook.call_keys for delete to webhook_app
  using (exists (select from webhook.endpoints as owner where owner.id = endpoint_id));
grant select, insert, delete on webhook.call_keys to webhook_app;
grant update (call_id, expires_at) on webhook.call_keys to webhook_app;

-- Genuine requests of the current minute, for endpoints with a limit. They belong to the tenant that has the endpoint.
create table webhook.delivery_rates (
  endpoint_id uuid constraint delivery_rates_pkey primary key
    constraint delivery_rates_endpoint_id_fkey references webhook.endpoints on delete cascade,
  -- Unused.
  tenant_id uuid,
  minute timestamptz not null,
  deliveries integer not null
);

alter table webhook.delivery_rates enable row level security;
alter table webhook.delivery_rates force row level security;
create policy delivery_rates_app_select on webhook.delivery_rates for select to webhook_app
  using (exists (select from webhook.endpoints as owner where owner.id = endpoint_id));
create policy delivery_rates_app_insert on webhook.delivery_rates for insert to webhook_app
  with check (exists (select from webhook.endpoints as owner where owner.id = endpoint_id));
create policy delivery_rates_app_update on webhook.delivery_rates for update to webhook_app
  using (exists (select from webhook.endpoints as owner where owner.id = endpoint_id))
  with check (exists (select from webhook.endpoints as owner where owner.id = endpoint_id));
grant select, insert on webhook.delivery_rates to webhook_app;
grant update (minute, deliveries) on webhook.delivery_rates to webhook_app;

-- Requests that did not prove to be genuine, by the address that they came from. They belong to no tenant.
create table webhook.refused_addresses (
  address text constraint refused_addresses_pkey primary key,
  minute timestamptz not null,
  requests integer not null
);
create index refused_addresses_minute_idx on webhook.refused_addresses (minute);

alter table webhook.refused_addresses enable row level security;
alter table webhook.refused_addresses force row level security;
create policy refused_addresses_system_select on webhook.refused_addresses for select to webhook_system using (true);
create policy refused_addresses_system_insert on webhook.refused_addresses for insert to webhook_system
  with check (true);
create policy refused_addresses_system_update on webhook.refused_addresses for update to webhook_system
  using (true) with check (true);
create policy refused_addresses_system_delete on webhook.refused_addresses for delete to webhook_system using (true);
grant select, insert, delete on webhook.refused_addresses to webhook_system;
grant update (minute, requests) on webhook.refused_addresses to webhook_system;

--
-- Subscriptions of tenants and of the owner to events. Rows of the owner have the nil UUID as their tenant.
--

-- Subscriptions to events.
create table webhook.subscriptions (
  id uuid constraint subscriptions_pkey primary key,
  tenant_id uuid not null,
  url text not null,
  event_types text[] not null,
  enabled boolean not null,
  -- Encrypted: signs events.
  secret bytea not null,
  -- Encrypted: the secret before the last rotation. Until this time events are signed by both.
  previous_secret bytea,
  previous_secret_expires_at timestamptz,
  -- The beginning of the time in which every attempt has failed; null after a success.
  failing_since timestamptz,
  last_delivery_at timestamptz,
  last_delivery_status text constraint subscriptions_last_delivery_status_check
    check (last_delivery_status in ('pending', 'delivered', 'failed')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint subscriptions_previous_secret_check
    check ((previous_secret is null) = (previous_secret_expires_at is null))
);
create index subscriptions_tenant_id_idx on webhook.subscriptions (tenant_id, id);
-- Finds secrets that are over.
create index subscriptions_previous_secret_expires_at_idx on webhook.subscriptions (previous_secret_expires_at)
  where previous_secret_expires_at is not null;
create index subscriptions_secret_sealed_by_idx on webhook.subscriptions (webhook.sealed_by(secret));
create index subscriptions_previous_secret_sealed_by_idx on webhook.subscriptions (webhook.sealed_by(previous_secret))
  where previous_secret is not null;

alter table webhook.subscriptions enable row level security;
alter table webhook.subscriptions force row level security;
create policy subscriptions_app_select on webhook.subscriptions for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy subscriptions_app_insert on webhook.subscriptions for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy subscriptions_app_update on webhook.subscriptions for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy subscriptions_app_delete on webhook.subscriptions for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
-- Subscriptions of all tenants are read to find secrets under an old key. The owner changes its own.
create policy subscriptions_system_select on webhook.subscriptions for select to webhook_system using (true);
create policy subscriptions_system_insert on webhook.subscriptions for insert to webhook_system
  with check (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy subscriptions_system_update on webhook.subscriptions for update to webhook_system
  using (tenant_id = '00000000-0000-0000-0000-000000000000')
  with check (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy subscriptions_system_delete on webhook.subscriptions for delete to webhook_system
  using (tenant_id = '00000000-0000-0000-0000-000000000000');
grant select, insert, delete on webhook.subscriptions to webhook_app;
grant update (url, event_types, enabled, failing_since, updated_at, last_delivery_at, last_delivery_status, secret,
  previous_secret, previous_secret_expires_at) on webhook.subscriptions to webhook_app;
grant select, insert, delete on webhook.subscriptions to webhook_system;
grant update (url, event_types, enabled, failing_since, updated_at, secret, previous_secret, previous_secret_expires_at)
  on webhook.subscriptions to webhook_system;

-- Events that have subscribers. Kept for 30 days.
create table webhook.events (
  -- The id that the event was raised with.
  id uuid constraint events_pkey primary key,
  tenant_id uuid not null,
  type text not null,
  -- The body of the request, the same at each attempt.
  body text not null,
  created_at timestamptz not null default now()
);
create index events_created_at_idx on webhook.events (created_at);

alter table webhook.events enable row level security;
alter table webhook.events force row level security;
create policy events_app_select on webhook.events for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy events_app_insert on webhook.events for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy events_system_select on webhook.events for select to webhook_system using (true);
create policy events_system_insert on webhook.events for insert to webhook_system
  with check (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy events_system_delete on webhook.events for delete to webhook_system
  using (created_at < now() - interval '30 days');
grant select, insert on webhook.events to webhook_app;
grant select, insert, delete on webhook.events to webhook_system;

-- The last time that an event was sent, for events that are sent once in a while at most.
create table webhook.event_marks (
  tenant_id uuid not null,
  -- The type of the event, and its subject.
  subject text not null,
  at timestamptz not null,
  constraint event_marks_pkey primary key (tenant_id, subject)
);
create index event_marks_at_idx on webhook.event_marks (at);

alter table webhook.event_marks enable row level security;
alter table webhook.event_marks force row level security;
create policy event_marks_app_select on webhook.event_marks for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy event_marks_app_insert on webhook.event_marks for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy event_marks_app_update on webhook.event_marks for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy event_marks_system_select on webhook.event_marks for select to webhook_system using (true);
create policy event_marks_system_delete on webhook.event_marks for delete to webhook_system
  using (at < now() - interval '2 days');
grant select, insert on webhook.event_marks to webhook_app;
grant update (at) on webhook.event_marks to webhook_app;
grant select, delete on webhook.event_marks to webhook_system;

-- Events that could not be read or stored, with the reason. Kept for 30 days.
create table webhook.dead_letters (
  id uuid constraint dead_letters_pkey primary key,
  received_at timestamptz not null default now(),
  -- The topic, partition and offset; or the sending service.
  origin text not null,
  reason text not null,
  payload bytea not null
);
-- For the deletion of old dead letters.
create index dead_letters_received_at_idx on webhook.dead_letters (received_at);

alter table webhook.dead_letters enable row level security;
alter table webhook.dead_letters force row level security;
create policy dead_letters_system_select on webhook.dead_letters for select to webhook_system using (true);
create policy dead_letters_system_insert on webhook.dead_letters for insert to webhook_system with check (true);
create policy dead_letters_system_delete on webhook.dead_letters for delete to webhook_system
  using (received_at < now() - interval '30 days');
grant select, insert, delete on webhook.dead_letters to webhook_system;

--
-- Deliveries of results and events.
--

-- Requests to URLs of tenants. A delivery is the result of a call, signed by its endpoint, or an event, signed by its
-- subscription.
create table webhook.deliveries (
  id uuid constraint deliveries_pkey primary key,
  tenant_id uuid not null,
  call_id uuid constraint deliveries_call_id_fkey references webhook.calls on delete cascade,
  endpoint_id uuid constraint deliveries_endpoint_id_fkey references webhook.endpoints on delete cascade,
  event_id uuid constraint deliveries_event_id_fkey references webhook.events on delete cascade,
  subscription_id uuid
    constraint deliveries_subscription_id_fkey references webhook.subscriptions on delete cascade,
  url text not null,
  -- A digest of the origin of the URL: deliveries with the same target wait for each other.
  target text not null,
  status text not null constraint deliveries_status_check check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  -- The time of the next attempt; null once there is none.
  due_at timestamptz,
  -- A replica sends it until this time; afterwards any may.
  claimed_until timestamptz,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint deliveries_source_check check (
    num_nulls(call_id, endpoint_id) = 2 and num_nulls(event_id, subscription_id) = 0
    or num_nulls(call_id, endpoint_id) = 0 and num_nulls(event_id, subscription_id) = 2),
  constraint deliveries_due_at_check check ((due_at is null) = (status <> 'pending'))
);
create index deliveries_target_idx on webhook.deliveries (tenant_id, target, due_at) where status = 'pending';
create index deliveries_call_id_idx on webhook.deliveries (call_id, id);
create index deliveries_endpoint_id_idx on webhook.deliveries (endpoint_id);
create index deliveries_event_id_idx on webhook.deliveries (event_id);
create index deliveries_subscription_id_idx on webhook.deliveries (subscription_id) where status = 'pending';
-- Counts the requests of a target that are under way.
create index deliveries_in_flight_idx on webhook.deliveries (tenant_id, target)
  where status = 'pending' and claimed_until is not null;
-- Finds what is overdue, of all tenants.
create index deliveries_due_at_idx on webhook.deliveries (due_at) where status = 'pending';
-- For the deletion of a subscription; the other one counts what waits for it.
create index deliveries_of_subscription_idx on webhook.deliveries (subscription_id);

alter table webhook.deliveries enable row level security;
alter table webhook.deliveries force row level security;
create policy deliveries_app_select on webhook.deliveries for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy deliveries_app_insert on webhook.deliveries for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy deliveries_app_update on webhook.deliveries for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy deliveries_system_select on webhook.deliveries for select to webhook_system using (true);
create policy deliveries_system_insert on webhook.deliveries for insert to webhook_system
  with check (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy deliveries_system_update on webhook.deliveries for update to webhook_system
  using (tenant_id = '00000000-0000-0000-0000-000000000000')
  with check (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy deliveries_system_move on webhook.deliveries for update to webhook_system
  using (tenant_id = (select webhook.moving_from())) with check (tenant_id = (select webhook.moving_to()));
grant select, insert on webhook.deliveries to webhook_app;
grant update (status, attempts, due_at, claimed_until, finished_at, url, target) on webhook.deliveries to webhook_app;
grant select, insert on webhook.deliveries to webhook_system;
grant update (url, target, status, due_at, claimed_until, finished_at, tenant_id)
  on webhook.deliveries to webhook_system;

create table webhook.delivery_attempts (
  delivery_id uuid not null constraint delivery_attempts_delivery_id_fkey
    references webhook.deliveries on delete cascade,
  number integer not null,
  tenant_id uuid not null,
  at timestamptz not null,
  duration_ms integer not null,
  -- The status of the response; null without one.
  status integer,
  -- The reason why there was no response.
  error text,
  constraint delivery_attempts_pkey primary key (delivery_id, number)
);

alter table webhook.delivery_attempts enable row level security;
alter table webhook.delivery_attempts force row level security;
create policy delivery_attempts_app_select on webhook.delivery_attempts for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy delivery_attempts_app_insert on webhook.delivery_attempts for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
-- The owner reads the attempts for its own subscriptions.
create policy delivery_attempts_system_select on webhook.delivery_attempts for select to webhook_system
  using (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy delivery_attempts_system_move_select on webhook.delivery_attempts for select to webhook_system
  using (tenant_id in ((select webhook.moving_from()), (select webhook.moving_to())));
create policy delivery_attempts_system_move on webhook.delivery_attempts for update to webhook_system
  using (tenant_id = (select webhook.moving_from())) with check (tenant_id = (select webhook.moving_to()));
grant select, insert on webhook.delivery_attempts to webhook_app;
grant select on webhook.delivery_attempts to webhook_system;
grant update (tenant_id) on webhook.delivery_attempts to webhook_system;

--
-- Messaging channels.
--

-- Accounts at messaging providers through which people talk to agents. A deleted channel is hidden at once, and removed
-- with its messages in batches.
create table webhook.channel_instances (
  id uuid constraint channel_instances_pkey primary key,
  tenant_id uuid not null,
  type text not null,
  name text not null,
  agent_id uuid not null,
  enabled boolean not null,
  history_tokens integer not null,
  replies json not null,
  config json not null,
  -- Encrypted JSON.
  credentials bytea not null,
  -- Encrypted: the credentials before the last rotation. Until this time replies are signed by both.
  previous_credentials bytea,
  previous_credentials_expire_at timestamptz,
  -- The time until which they prove messages too; null if they only sign replies.
  previous_credentials_accepted_until timestamptz,
  -- Encrypted; null for providers that give no tokens for a time. The refresh token is good for one refresh.
  access_token bytea,
  refresh_token bytea,
  -- The time of the refresh, ahead of the expiry of the access token.
  refresh_due_at timestamptz,
  -- The time at which the access token was stored.
  token_at timestamptz,
  -- A replica refreshes until this time; its result counts while the claim is its own.
  refresh_claim uuid,
  refresh_claimed_until timestamptz,
  -- The status of an enabled channel.
  status text not null constraint channel_instances_status_check
    check (status in ('pending', 'connected', 'needs_reauth', 'error')),
  status_reason text,
  -- The provider wants nothing to be sent before this time.
  paused_until timestamptz,
  -- The transfer that keeps the channel as it is.
  locked_by uuid,
  -- Whether the channel is about to move: no message of it is worked on; messages are stored and wait.
  closed boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  constraint channel_instances_tokens_check
    check (num_nulls(access_token, refresh_token, refresh_due_at) in (0, 3)),
  constraint channel_instances_previous_credentials_check
    check ((previous_credentials is null) = (previous_credentials_expire_at is null)
      and (previous_credentials_accepted_until is null
        or previous_credentials_accepted_until <= previous_credentials_expire_at))
);
create index channel_instances_tenant_id_idx on webhook.channel_instances (tenant_id, id);
create index channel_instances_deleted_at_idx on webhook.channel_instances (deleted_at) where deleted_at is not null;
create index channel_instances_refresh_due_at_idx on webhook.channel_instances (refresh_due_at)
  where refresh_due_at is not null;
-- Finds credentials that are over.
create index channel_instances_previous_credentials_expire_at_idx
  on webhook.channel_instances (previous_credentials_expire_at) where previous_credentials_expire_at is not null;
create index channel_instances_credentials_sealed_by_idx on webhook.channel_instances (webhook.sealed_by(credentials));
create index channel_instances_previous_credentials_sealed_by_idx on webhook.channel_instances (webhook.sealed_by(previous_credentials))
  where previous_credentials is not null;
create index channel_instances_access_token_sealed_by_idx on webhook.channel_instances (webhook.sealed_by(access_token))
  where access_token is not null;
create index channel_instances_refresh_token_sealed_by_idx on webhook.channel_instances (webhook.sealed_by(refresh_token))
  where refresh_token is not null;

alter table webhook.channel_instances enable row level security;
alter table webhook.channel_instances force row level security;
create policy channel_instances_app_select on webhook.channel_instances for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy channel_instances_app_insert on webhook.channel_instances for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy channel_instances_app_update on webhook.channel_instances for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
-- A message names its channel, and with it the tenant.
create policy channel_instances_system_select on webhook.channel_instances for select to webhook_system using (true);
create policy channel_instances_system_delete on webhook.channel_instances for delete to webhook_system
  using (deleted_at is not null);
create policy channel_instances_system_move on webhook.channel_instances for update to webhook_system
  using (tenant_id = (select webhook.moving_from())) with check (tenant_id = (select webhook.moving_to()));
grant select, insert on webhook.channel_instances to webhook_app;
grant update (name, agent_id, enabled, history_tokens, replies, config, credentials, status, status_reason,
  paused_until, updated_at, deleted_at, access_token, refresh_token, refresh_due_at, token_at, refresh_claim,
  refresh_claimed_until, locked_by, closed, previous_credentials, previous_credentials_expire_at,
  previous_credentials_accepted_until) on webhook.channel_instances to webhook_app;
grant select, delete on webhook.channel_instances to webhook_system;
grant update (tenant_id, credentials, access_token, refresh_token, refresh_claim, refresh_claimed_until, locked_by,
  closed, previous_credentials) on webhook.channel_instances to webhook_system;

-- A group may get another id at its provider. Its conversation goes on under the new one, and a row is left under the
-- old id, for messages that arrive late.
create table webhook.conversations (
  id uuid constraint conversations_pkey primary key,
  tenant_id uuid not null,
  instance_id uuid not null
    constraint conversations_instance_id_fkey references webhook.channel_instances on delete cascade,
  -- The id at the provider.
  external_id text not null,
  is_group boolean not null,
  -- The acting user; null in a group.
  user_id text,
  -- The time of the last reply that a limit is reached.
  refused_at timestamptz,
  last_message_at timestamptz not null default now(),
  -- The time at which work on what is overdue was last queued; not again before a minute has passed.
  woken_at timestamptz,
  -- The conversation that this one goes on in.
  moved_to uuid
    constraint conversations_moved_to_fkey references webhook.conversations on delete cascade,
  created_at timestamptz not null default now(),
  -- Private messages stay apart from a group that the provider gives the same id.
  constraint conversations_external_id_key unique (instance_id, external_id, is_group)
);
create index conversations_instance_id_idx on webhook.conversations (instance_id, id);
-- Finds those in which nothing has happened for long.
create index conversations_last_message_at_idx on webhook.conversations (last_message_at);
create index conversations_user_id_idx on webhook.conversations (tenant_id, user_id);
create index conversations_moved_to_idx on webhook.conversations (moved_to) where moved_to is not null;

alter table webhook.conversations enable row level security;
alter table webhook.conversations force row level security;
create policy conversations_app_select on webhook.conversations for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy conversations_app_insert on webhook.conversations for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy conversations_app_update on webhook.conversations for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy conversations_app_delete on webhook.conversations for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
-- Finds and deletes conversations without messages.
create policy conversations_system_select on webhook.conversations for select to webhook_system using (true);
create policy conversations_system_delete on webhook.conversations for delete to webhook_system using (true);
create policy conversations_system_move on webhook.conversations for update to webhook_system
  using (tenant_id = (select webhook.moving_from())) with check (tenant_id = (select webhook.moving_to()));
grant select, insert, delete on webhook.conversations to webhook_app;
grant update (refused_at, last_message_at, woken_at, external_id, moved_to) on webhook.conversations to webhook_app;
grant select, delete on webhook.conversations to webhook_system;
grant update (tenant_id) on webhook.conversations to webhook_system;

-- Turns that are not answered yet: one at a time in a conversation. The id of a turn is that of the call of chat.
create table webhook.channel_turns (
  id uuid constraint channel_turns_pkey primary key,
  tenant_id uuid not null,
  conversation_id uuid not null
    constraint channel_turns_conversation_id_fkey references webhook.conversations on delete cascade,
  -- The user that the agent acts for, also in a group.
  user_id text not null,
  agent_id uuid not null,
  -- Encrypted: the request to the agent, the same at each attempt. Null if nothing in the messages can be read.
  request bytea,
  -- Whether a message has an attachment, which can't be read.
  has_attachment boolean not null,
  -- As in channel_messages: the highest number of the messages.
  hops smallint not null default 0,
  created_at timestamptz not null default now(),
  constraint channel_turns_conversation_id_key unique (conversation_id)
);
create index channel_turns_request_sealed_by_idx on webhook.channel_turns (webhook.sealed_by(request))
  where request is not null;

alter table webhook.channel_turns enable row level security;
alter table webhook.channel_turns force row level security;
create policy channel_turns_app_select on webhook.channel_turns for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy channel_turns_app_insert on webhook.channel_turns for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
-- A turn that moves without its agent, because the target has one with the same key, uses that one.
create policy channel_turns_app_update on webhook.channel_turns for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy channel_turns_app_delete on webhook.channel_turns for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy channel_turns_system_move_select on webhook.channel_turns for select to webhook_system
  using (tenant_id in ((select webhook.moving_from()), (select webhook.moving_to())));
create policy channel_turns_system_move on webhook.channel_turns for update to webhook_system
  using (tenant_id = (select webhook.moving_from())) with check (tenant_id = (select webhook.moving_to()));
create policy channel_turns_system_select on webhook.channel_turns for select to webhook_system using (true);
grant select, insert, delete on webhook.channel_turns to webhook_app;
grant update (agent_id) on webhook.channel_turns to webhook_app;
-- The data keys of sealed values are wrapped again by the first key of the ring.
grant update (request) on webhook.channel_turns to webhook_app;
grant select on webhook.channel_turns to webhook_system;
grant update (tenant_id, request) on webhook.channel_turns to webhook_system;

-- Messages that people send to agents, and the replies.
create table webhook.channel_messages (
  id uuid constraint channel_messages_pkey primary key,
  tenant_id uuid not null,
  instance_id uuid not null
    constraint channel_messages_instance_id_fkey references webhook.channel_instances on delete cascade,
  conversation_id uuid not null
    constraint channel_messages_conversation_id_fkey references webhook.conversations on delete cascade,
  direction text not null constraint channel_messages_direction_check check (direction in ('in', 'out')),
  -- The id at the provider; null before the message is sent.
  external_id text,
  -- Encrypted; null for a message in that has no text.
  text bytea,
  -- The length of the text in bytes, before encryption.
  text_bytes integer not null,
  has_attachment boolean not null default false,
  -- The acting user and the name of the sender of a message in.
  user_id text,
  sender_name text,
  status text not null constraint channel_messages_status_check
    check (status in ('received', 'answered', 'queued', 'sent', 'failed')),
  -- The turn that the message is a part of.
  turn_id uuid,
  run_id uuid,
  -- The provider's order of messages in.
  position numeric,
  -- The number of gateways that had sent on what the message answers: channels that answer each other must stop.
  hops smallint not null default 0,
  -- Failures to send a reply, and the time of the next attempt.
  attempts integer not null default 0,
  due_at timestamptz,
  -- The order in which messages were stored.
  sequence bigint generated always as identity,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index channel_messages_conversation_id_idx on webhook.channel_messages (conversation_id, sequence);
create index channel_messages_received_idx on webhook.channel_messages (conversation_id, sequence)
  where status = 'received';
create index channel_messages_queued_idx on webhook.channel_messages (conversation_id, sequence)
  where status = 'queued';
create index channel_messages_waiting_idx on webhook.channel_messages (tenant_id) where status = 'received';
create index channel_messages_due_at_idx on webhook.channel_messages (due_at) where status in ('received', 'queued');
create index channel_messages_turn_id_idx on webhook.channel_messages (turn_id);
create index channel_messages_unfinished_idx on webhook.channel_messages (instance_id)
  where status in ('received', 'queued');
create index channel_messages_user_id_idx on webhook.channel_messages (tenant_id, user_id);
create index channel_messages_expires_at_idx on webhook.channel_messages (expires_at);
-- The order in which a move brings messages to the target.
create index channel_messages_instance_sequence_idx on webhook.channel_messages (instance_id, sequence);
create index channel_messages_text_sealed_by_idx on webhook.channel_messages (webhook.sealed_by(text))
  where text is not null;

alter table webhook.channel_messages enable row level security;
alter table webhook.channel_messages force row level security;
create policy channel_messages_app_select on webhook.channel_messages for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy channel_messages_app_insert on webhook.channel_messages for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy channel_messages_app_update on webhook.channel_messages for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy channel_messages_app_delete on webhook.channel_messages for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
-- Finds messages that are overdue, and deletes old ones, of all tenants.
create policy channel_messages_system_select on webhook.channel_messages for select to webhook_system using (true);
create policy channel_messages_system_delete on webhook.channel_messages for delete to webhook_system
  using (expires_at <= now() or exists (
    select from webhook.channel_instances as i where i.id = instance_id and i.deleted_at is not null));
create policy channel_messages_system_move on webhook.channel_messages for update to webhook_system
  using (tenant_id = (select webhook.moving_from())) with check (tenant_id = (select webhook.moving_to()));
grant select, insert, delete on webhook.channel_messages to webhook_app;
grant update (external_id, status, turn_id, run_id, attempts, due_at, conversation_id)
  on webhook.channel_messages to webhook_app;
grant update (text) on webhook.channel_messages to webhook_app;
grant select, delete on webhook.channel_messages to webhook_system;
grant update (tenant_id, text) on webhook.channel_messages to webhook_system;

-- Ids that the provider gives its events and messages: a duplicate of a message has one of them. They outlive their
-- messages, because a provider may repeat one that was deleted, and belong to the tenant that has the channel.
create table webhook.channel_message_keys (
  instance_id uuid not null
    constraint channel_message_keys_instance_id_fkey references webhook.channel_instances on delete cascade,
  key text not null,
  -- Unused.
  tenant_id uuid,
  message_id uuid not null,
  expires_at timestamptz not null default now() + interval '30 days',
  constraint channel_message_keys_pkey primary key (instance_id, key)
);
create index channel_message_keys_expires_at_idx on webhook.channel_message_keys (expires_at);

alter table webhook.channel_message_keys enable row level security;
alter table webhook.channel_message_keys force row level security;
create policy channel_message_keys_app_select on webhook.channel_message_keys for select to webhook_app
  using (exists (select from webhook.channel_instances as owner where owner.id = instance_id));
create policy channel_message_keys_app_insert on webhook.channel_message_keys for insert to webhook_app
  with check (exists (select from webhook.channel_instances as owner where owner.id = instance_id));
create policy channel_message_keys_system_select on webhook.channel_message_keys for select to webhook_system
  using (true);
create policy channel_message_keys_system_delete on webhook.channel_message_keys for delete to webhook_system
  using (expires_at <= now() or exists (
    select from webhook.channel_instances as i where i.id = instance_id and i.deleted_at is not null));
grant select, insert on webhook.channel_message_keys to webhook_app;
grant select, delete on webhook.channel_message_keys to webhook_system;

--
-- Consents in a browser, for channels whose provider gives tokens for a time.
--

-- Links to consent pages.
create table webhook.consent_tickets (
  id uuid constraint consent_tickets_pkey primary key,
  tenant_id uuid not null,
  -- The channel.
  subject_id uuid not null
    constraint consent_tickets_subject_id_fkey references webhook.channel_instances on delete cascade,
  ticket_sha256 bytea not null constraint consent_tickets_ticket_sha256_key unique,
  -- The key and user that made the link.
  asked_by json not null,
  -- Encrypted: the details of the provider that are kept with the ticket.
  details bytea,
  -- The time at which a consent was given by this link.
  used_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index consent_tickets_subject_id_idx on webhook.consent_tickets (subject_id);
create index consent_tickets_expires_at_idx on webhook.consent_tickets (expires_at);

alter table webhook.consent_tickets enable row level security;
alter table webhook.consent_tickets force row level security;
create policy consent_tickets_app_select on webhook.consent_tickets for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy consent_tickets_app_insert on webhook.consent_tickets for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy consent_tickets_app_update on webhook.consent_tickets for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
-- A ticket or a state names its tenant.
create policy consent_tickets_system_select on webhook.consent_tickets for select to webhook_system using (true);
create policy consent_tickets_system_delete on webhook.consent_tickets for delete to webhook_system
  using (expires_at <= now());
grant select, insert on webhook.consent_tickets to webhook_app;
grant update (used_at) on webhook.consent_tickets to webhook_app;
grant select, delete on webhook.consent_tickets to webhook_system;

-- Consents that were begun: the browser comes back with the state.
create table webhook.consent_states (
  state_sha256 bytea constraint consent_states_pkey primary key,
  tenant_id uuid not null,
  ticket_id uuid not null
    constraint consent_states_ticket_id_fkey references webhook.consent_tickets on delete cascade,
  -- Encrypted; null once a browser has it.
  state bytea,
  -- Encrypted: the code verifier of PKCE.
  verifier bytea not null
);
create index consent_states_ticket_id_idx on webhook.consent_states (ticket_id);

alter table webhook.consent_states enable row level security;
alter table webhook.consent_states force row level security;
create policy consent_states_app_select on webhook.consent_states for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy consent_states_app_insert on webhook.consent_states for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy consent_states_app_update on webhook.consent_states for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy consent_states_app_delete on webhook.consent_states for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy consent_states_system_select on webhook.consent_states for select to webhook_system using (true);
grant select, insert, delete on webhook.consent_states to webhook_app;
grant update (state) on webhook.consent_states to webhook_app;
grant select on webhook.consent_states to webhook_system;

--
-- Administrative changes.
--

-- Requests with an Idempotency-Key, and their responses.
create table webhook.idempotency_records (
  -- The claim of the request that processes this record; a request that takes over an expired record sets a new id.
  id uuid constraint idempotency_records_pkey primary key,
  -- Null for owner keys.
  tenant_id uuid,
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
create index idempotency_records_expires_at_idx on webhook.idempotency_records (expires_at);

alter table webhook.idempotency_records enable row level security;
alter table webhook.idempotency_records force row level security;
create policy idempotency_records_app_select on webhook.idempotency_records for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy idempotency_records_app_insert on webhook.idempotency_records for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy idempotency_records_app_update on webhook.idempotency_records for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy idempotency_records_app_delete on webhook.idempotency_records for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
-- Records of owner keys, and expired records.
create policy idempotency_records_system_select on webhook.idempotency_records for select to webhook_system
  using (tenant_id is null or expires_at <= now());
create policy idempotency_records_system_insert on webhook.idempotency_records for insert to webhook_system
  with check (tenant_id is null);
create policy idempotency_records_system_update on webhook.idempotency_records for update to webhook_system
  using (tenant_id is null) with check (tenant_id is null);
create policy idempotency_records_system_delete on webhook.idempotency_records for delete to webhook_system
  using (tenant_id is null or expires_at <= now());
grant select, insert, delete on webhook.idempotency_records to webhook_app, webhook_system;
grant update (id, fingerprint, response, expires_at) on webhook.idempotency_records to webhook_app, webhook_system;

-- Changes of endpoints, subscriptions and channels that are not yet published to the audit log.
create table webhook.audit_outbox (
  id bigint generated always as identity constraint audit_outbox_pkey primary key,
  partition integer not null,
  tenant_id uuid,
  -- The time of the entry, and of everything that its transaction wrote.
  occurred_at timestamptz not null default now(),
  -- The entry without its time.
  entry json not null
);
-- For reading the oldest entries of a partition, however many entries other partitions have.
create index audit_outbox_partition_idx on webhook.audit_outbox (partition, id);

alter table webhook.audit_outbox enable row level security;
alter table webhook.audit_outbox force row level security;
create policy audit_outbox_app_insert on webhook.audit_outbox for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy audit_outbox_system_select on webhook.audit_outbox for select to webhook_system using (true);
create policy audit_outbox_system_insert on webhook.audit_outbox for insert to webhook_system
  with check (tenant_id is null);
create policy audit_outbox_system_delete on webhook.audit_outbox for delete to webhook_system using (true);
grant insert on webhook.audit_outbox to webhook_app;
grant select, insert, delete on webhook.audit_outbox to webhook_system;

-- Changes that could not be published, with the reason. Kept for 30 days, at most 1,000.
create table webhook.audit_outbox_dead_letters (
  id bigint generated always as identity constraint audit_outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table webhook.audit_outbox_dead_letters enable row level security;
alter table webhook.audit_outbox_dead_letters force row level security;
create policy audit_outbox_dead_letters_system_select on webhook.audit_outbox_dead_letters
  for select to webhook_system using (true);
create policy audit_outbox_dead_letters_system_insert on webhook.audit_outbox_dead_letters
  for insert to webhook_system with check (true);
create policy audit_outbox_dead_letters_system_delete on webhook.audit_outbox_dead_letters
  for delete to webhook_system using (true);
grant select, insert, delete on webhook.audit_outbox_dead_letters to webhook_system;

-- Requests of a tenant in its last minute with any, by which the gateway calls an address that the tenant chose.
create table webhook.minute_counts (
  tenant_id uuid not null,
  kind text not null,
  minute timestamptz not null,
  count integer not null,
  constraint minute_counts_pkey primary key (tenant_id, kind)
) with (fillfactor = 50);

alter table webhook.minute_counts enable row level security;
alter table webhook.minute_counts force row level security;
create policy minute_counts_app_select on webhook.minute_counts for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy minute_counts_app_insert on webhook.minute_counts for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy minute_counts_app_update on webhook.minute_counts for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
grant select, insert on webhook.minute_counts to webhook_app;
grant update (minute, count) on webhook.minute_counts to webhook_app;
