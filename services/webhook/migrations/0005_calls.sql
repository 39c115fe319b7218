-- Genuine deliveries, and what became of them.

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
  -- Encrypted: what the agent is asked. Null once the call has finished.
  request bytea,
  -- Encrypted: what it answered.
  result bytea,
  error json,
  -- A replica works on a `running` call until this time; afterwards any may take it over.
  claimed_until timestamptz,
  -- Names the claim, so that only its holder prolongs it.
  claim_id uuid,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  expires_at timestamptz not null
);
create index calls_endpoint_id_idx on webhook.calls (endpoint_id, id);
create index calls_expires_at_idx on webhook.calls (expires_at);

-- What a repeat of a delivery has in common with it: its id, and its body where no id is signed.
create table webhook.call_keys (
  endpoint_id uuid not null constraint call_keys_endpoint_id_fkey references webhook.endpoints on delete cascade,
  kind text not null constraint call_keys_kind_check check (kind in ('id', 'body')),
  digest bytea not null constraint call_keys_digest_check check (octet_length(digest) = 32),
  tenant_id uuid not null,
  call_id uuid not null constraint call_keys_call_id_fkey references webhook.calls on delete cascade,
  expires_at timestamptz not null,
  constraint call_keys_pkey primary key (endpoint_id, kind, digest)
);
create index call_keys_call_id_idx on webhook.call_keys (call_id);

-- Genuine deliveries of the current minute, for endpoints with a limit.
create table webhook.delivery_rates (
  endpoint_id uuid constraint delivery_rates_pkey primary key
    constraint delivery_rates_endpoint_id_fkey references webhook.endpoints on delete cascade,
  tenant_id uuid not null,
  minute timestamptz not null,
  deliveries integer not null
);

-- Requests that did not prove to be genuine, by the address that they came from. Of no tenant.
create table webhook.refused_addresses (
  address text constraint refused_addresses_pkey primary key,
  minute timestamptz not null,
  requests integer not null
);
create index refused_addresses_minute_idx on webhook.refused_addresses (minute);

alter table webhook.calls enable row level security;
alter table webhook.calls force row level security;
alter table webhook.call_keys enable row level security;
alter table webhook.call_keys force row level security;
alter table webhook.delivery_rates enable row level security;
alter table webhook.delivery_rates force row level security;
alter table webhook.refused_addresses enable row level security;
alter table webhook.refused_addresses force row level security;

create policy calls_app_select on webhook.calls for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy calls_app_insert on webhook.calls for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy calls_app_update on webhook.calls for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy calls_system_select on webhook.calls for select to webhook_system using (true);
create policy calls_system_update on webhook.calls for update to webhook_system using (true) with check (true);
create policy calls_system_delete on webhook.calls for delete to webhook_system using (expires_at <= now());

create policy call_keys_app_select on webhook.call_keys for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy call_keys_app_insert on webhook.call_keys for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy call_keys_app_update on webhook.call_keys for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy call_keys_app_delete on webhook.call_keys for delete to webhook_app
  using (tenant_id = webhook.current_tenant());

create policy delivery_rates_app_select on webhook.delivery_rates for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy delivery_rates_app_insert on webhook.delivery_rates for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy delivery_rates_app_update on webhook.delivery_rates for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());

create policy refused_addresses_system_select on webhook.refused_addresses for select to webhook_system using (true);
create policy refused_addresses_system_insert on webhook.refused_addresses for insert to webhook_system
  with check (true);
create policy refused_addresses_system_update on webhook.refused_addresses for update to webhook_system
  using (true) with check (true);
create policy refused_addresses_system_delete on webhook.refused_addresses for delete to webhook_system using (true);

grant select, insert on webhook.calls to webhook_app;
grant update (status, request, result, error, claimed_until, claim_id, finished_at) on webhook.calls to webhook_app;
grant select, delete on webhook.calls to webhook_system;
grant update (claimed_until) on webhook.calls to webhook_system;
grant select, insert, delete on webhook.call_keys to webhook_app;
grant update (call_id, expires_at) on webhook.call_keys to webhook_app;
grant select, insert on webhook.delivery_rates to webhook_app;
grant update (minute, deliveries) on webhook.delivery_rates to webhook_app;
grant select, insert, delete on webhook.refused_addresses to webhook_system;
grant update (minute, requests) on webhook.refused_addresses to webhook_system;
