-- Tenants and the API keys of tenants and owners; limits and budgets; the audit log; deletions of users; transfers.

-- The tenant whose rows a transaction of tenant_app may see. Raises an exception if none is set, so that a missing
-- setting causes an error instead of an empty result.
create function tenant.current_tenant() returns uuid language plpgsql stable as $$
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
revoke execute on function tenant.current_tenant() from public;
grant execute on function tenant.current_tenant() to tenant_app;

grant usage on schema tenant to tenant_app, tenant_system;
grant select on tenant.migrations to tenant_app, tenant_system;

--
-- Tenants and keys.
--

-- Customers of the gateway.
create table tenant.tenants (
  id uuid constraint tenants_pkey primary key,
  slug text not null constraint tenants_slug_key unique,
  name text not null,
  status text not null default 'active'
    constraint tenants_status_check check (status in ('active', 'suspended', 'archived')),
  -- {requests_per_minute?, tokens_per_minute?, max_concurrent?}; an absent member means no limit.
  limits jsonb not null,
  -- {usd, period}
  budget jsonb,
  -- Null allows all models of the catalogue.
  allowed_models text[],
  timezone text not null,
  retention_days integer not null,
  previews_enabled boolean not null,
  previews_max_chars integer not null,
  -- Limits of what agents remember: {documents?, bytes?, entities?}; an absent member means the default.
  memory_limits jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

alter table tenant.tenants enable row level security;
alter table tenant.tenants force row level security;
create policy tenants_app_select on tenant.tenants for select to tenant_app
  using (id = tenant.current_tenant());
create policy tenants_system_select on tenant.tenants for select to tenant_system using (true);
create policy tenants_system_insert on tenant.tenants for insert to tenant_system with check (true);
create policy tenants_system_update on tenant.tenants for update to tenant_system using (true) with check (true);
grant select on tenant.tenants to tenant_app;
grant select, insert on tenant.tenants to tenant_system;
grant update (slug, name, status, limits, budget, allowed_models, timezone, retention_days, previews_enabled,
  previews_max_chars, memory_limits, updated_at) on tenant.tenants to tenant_system;

-- API keys of tenants, and of owners, which belong to no tenant.
create table tenant.api_keys (
  id uuid constraint api_keys_pkey primary key,
  tenant_id uuid constraint api_keys_tenant_id_fkey references tenant.tenants (id),
  -- The public part of the key text.
  key_id text not null
    constraint api_keys_key_id_key unique
    constraint api_keys_key_id_check check (key_id ~ '^[0-9A-Za-z]{16}$'),
  secret_sha256 bytea not null constraint api_keys_secret_check check (octet_length(secret_sha256) = 32),
  -- The secret before the last rotation, valid until `previous_valid_until`.
  previous_secret_sha256 bytea
    constraint api_keys_previous_secret_check check (octet_length(previous_secret_sha256) = 32),
  previous_valid_until timestamptz,
  name text not null,
  role text not null constraint api_keys_role_check check (role in ('owner', 'admin', 'user')),
  scopes text[] not null,
  user_id text,
  limits jsonb,
  budget jsonb,
  -- The id of the key that created it, or 'bootstrap'.
  created_by text not null,
  created_at timestamptz not null default now(),
  -- Approximate: updated at most once a minute.
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  -- The expiry that subscribers were sent an event for.
  expiry_alert_for timestamptz,
  constraint api_keys_tenant_check check ((role = 'owner') = (tenant_id is null)),
  constraint api_keys_previous_check check ((previous_secret_sha256 is null) = (previous_valid_until is null))
);
create index api_keys_tenant_id_idx on tenant.api_keys (tenant_id, id);
-- For revocation of owner keys, which searches for other active ones.
create index api_keys_owner_idx on tenant.api_keys (id) where role = 'owner';
-- For reading the few keys with their own limits, by tenant.
create index api_keys_limited_idx on tenant.api_keys (tenant_id) where limits is not null or budget is not null;
-- For the key list of owners, which reads keys by role, newest first, of one or all tenants (user keys only on
-- request).
create index api_keys_role_idx on tenant.api_keys (role, id);
create index api_keys_tenant_role_idx on tenant.api_keys (tenant_id, role, id);
-- For the search for keys whose expiry no event was sent for.
create index api_keys_expiry_alert_idx on tenant.api_keys (expires_at)
  where tenant_id is not null and revoked_at is null and expiry_alert_for is distinct from expires_at;

alter table tenant.api_keys enable row level security;
alter table tenant.api_keys force row level security;
create policy api_keys_app_select on tenant.api_keys for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy api_keys_app_insert on tenant.api_keys for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy api_keys_app_update on tenant.api_keys for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy api_keys_system_select on tenant.api_keys for select to tenant_system using (true);
create policy api_keys_system_insert on tenant.api_keys for insert to tenant_system with check (true);
create policy api_keys_system_update on tenant.api_keys for update to tenant_system using (true) with check (true);
grant select, insert on tenant.api_keys to tenant_app;
-- The rights of a key never change; only its secret and its end do.
grant update (secret_sha256, previous_secret_sha256, previous_valid_until, revoked_at) on tenant.api_keys to tenant_app;
grant select, insert on tenant.api_keys to tenant_system;
grant update (last_used_at, revoked_at, expiry_alert_for) on tenant.api_keys to tenant_system;

-- Defines the status of a key by the database clock, because the clocks of replicas may differ.
create function tenant.api_key_status(key tenant.api_keys) returns text language sql stable as $$
  select case
    when key.revoked_at is not null then 'revoked'
    when key.expires_at <= now() then 'expired'
    when key.previous_valid_until > now() then 'expiring'
    else 'active'
  end
$$;
revoke execute on function tenant.api_key_status(tenant.api_keys) from public;
grant execute on function tenant.api_key_status(tenant.api_keys) to tenant_app, tenant_system;

--
-- Limits and budgets: the amount spent in each window, and the amounts held by replicas of chat.
--

-- Returns the zone, or UTC if PostgreSQL does not have it: an update of the time zone data may remove a stored name.
create function tenant.timezone_or_utc(zone text) returns text language plpgsql stable as $$
begin
  perform now() at time zone zone;
  return zone;
exception when invalid_parameter_value then
  return 'UTC';
end
$$;

-- One row for each limit or budget of a tenant or key; its window advances in place.
create table tenant.limit_uses (
  tenant_id uuid not null constraint limit_uses_tenant_id_fkey references tenant.tenants (id),
  -- The tenant or one of its keys.
  subject_id uuid not null,
  resource text not null
    constraint limit_uses_resource_check
      check (resource in ('requests', 'tokens', 'concurrency', 'budget', 'counts')),
  -- The epoch for concurrency, which has no window.
  window_start timestamptz not null default to_timestamp(0),
  -- Requests, tokens and counts: spent or leased. Budget: settled, in pico-USD. Concurrency: always 0.
  used numeric not null default 0 constraint limit_uses_used_check check (used >= 0),
  -- The highest budget threshold, in percent, that was published for this window.
  published_percent smallint not null default 0,
  -- `window_start` identifies the window for replicas; `starts_at` and `ends_at` are its actual bounds. They differ
  -- after settings changed. Null for limits other than budgets.
  starts_at timestamptz,
  ends_at timestamptz,
  -- The previous window, for runs that were reserved in it and settle later.
  previous_window timestamptz,
  previous_ends_at timestamptz,
  constraint limit_uses_pkey primary key (subject_id, resource)
) with (fillfactor = 50);
create index limit_uses_tenant_id_idx on tenant.limit_uses (tenant_id);

alter table tenant.limit_uses enable row level security;
alter table tenant.limit_uses force row level security;
create policy limit_uses_app_select on tenant.limit_uses for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy limit_uses_system_select on tenant.limit_uses for select to tenant_system using (true);
create policy limit_uses_system_insert on tenant.limit_uses for insert to tenant_system with check (true);
create policy limit_uses_system_update on tenant.limit_uses for update to tenant_system using (true) with check (true);
grant select on tenant.limit_uses to tenant_app;
grant select, insert, update on tenant.limit_uses to tenant_system;

-- Replicas of chat that hold leases or did so recently.
create table tenant.limit_holders (
  id uuid constraint limit_holders_pkey primary key,
  seen_at timestamptz not null default now()
) with (fillfactor = 50);

alter table tenant.limit_holders enable row level security;
alter table tenant.limit_holders force row level security;
-- Visible to every tenant: the row contains only whether a holder is alive.
create policy limit_holders_app_select on tenant.limit_holders for select to tenant_app using (true);
create policy limit_holders_system_select on tenant.limit_holders for select to tenant_system using (true);
create policy limit_holders_system_insert on tenant.limit_holders for insert to tenant_system with check (true);
create policy limit_holders_system_update on tenant.limit_holders for update to tenant_system
  using (true) with check (true);
create policy limit_holders_system_delete on tenant.limit_holders for delete to tenant_system using (true);
grant select on tenant.limit_holders to tenant_app;
grant select, insert, update, delete on tenant.limit_holders to tenant_system;

-- The part of concurrency (slots) or of a budget (pico-USD, reserved or not yet settled) that a holder keeps.
create table tenant.limit_holds (
  holder_id uuid not null
    constraint limit_holds_holder_id_fkey references tenant.limit_holders (id) on delete cascade,
  tenant_id uuid not null,
  subject_id uuid not null,
  resource text not null constraint limit_holds_resource_check check (resource in ('concurrency', 'budget')),
  window_start timestamptz not null,
  amount numeric not null constraint limit_holds_amount_check check (amount >= 0),
  -- The sequence of the call that wrote this row; a delayed copy of an earlier call has no effect.
  sequence bigint not null,
  constraint limit_holds_pkey primary key (subject_id, resource, holder_id)
) with (fillfactor = 50);
create index limit_holds_holder_id_idx on tenant.limit_holds (holder_id);

alter table tenant.limit_holds enable row level security;
alter table tenant.limit_holds force row level security;
create policy limit_holds_app_select on tenant.limit_holds for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy limit_holds_system_select on tenant.limit_holds for select to tenant_system using (true);
create policy limit_holds_system_insert on tenant.limit_holds for insert to tenant_system with check (true);
create policy limit_holds_system_update on tenant.limit_holds for update to tenant_system
  using (true) with check (true);
grant select on tenant.limit_holds to tenant_app;
grant select, insert, update on tenant.limit_holds to tenant_system;

-- Settlements whose cost is included in `used`, so that repeats have no effect.
create table tenant.settlements (
  id uuid constraint settlements_pkey primary key,
  settled_at timestamptz not null default now()
);
create index settlements_settled_at_idx on tenant.settlements (settled_at);

alter table tenant.settlements enable row level security;
alter table tenant.settlements force row level security;
create policy settlements_system_select on tenant.settlements for select to tenant_system using (true);
create policy settlements_system_insert on tenant.settlements for insert to tenant_system with check (true);
create policy settlements_system_delete on tenant.settlements for delete to tenant_system using (true);
grant select, insert, delete on tenant.settlements to tenant_system;

-- Settled cost of budgets in intervals of 15 minutes, so that a recalculated window includes earlier spending (ADR 23).
create table tenant.budget_spend (
  tenant_id uuid not null constraint budget_spend_tenant_id_fkey references tenant.tenants (id),
  -- The tenant or one of its keys.
  subject_id uuid not null,
  -- The start of the 15 minutes.
  bucket timestamptz not null,
  -- Settled, in pico-USD. Negative where an exact cost replaced a higher estimate that an earlier bucket was charged.
  cost numeric not null default 0,
  -- The highest threshold, in percent, that is in the audit log for the window that starts here.
  published_percent smallint not null default 0,
  constraint budget_spend_pkey primary key (subject_id, bucket)
) with (fillfactor = 50);
create index budget_spend_bucket_idx on tenant.budget_spend (bucket);

alter table tenant.budget_spend enable row level security;
alter table tenant.budget_spend force row level security;
create policy budget_spend_app_select on tenant.budget_spend for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy budget_spend_system_select on tenant.budget_spend for select to tenant_system using (true);
create policy budget_spend_system_insert on tenant.budget_spend for insert to tenant_system with check (true);
create policy budget_spend_system_update on tenant.budget_spend for update to tenant_system
  using (true) with check (true);
create policy budget_spend_system_delete on tenant.budget_spend for delete to tenant_system using (true);
grant select on tenant.budget_spend to tenant_app;
grant select, insert, delete on tenant.budget_spend to tenant_system;
grant update (cost, published_percent) on tenant.budget_spend to tenant_system;

--
-- Administrative changes.
--

-- Requests with an Idempotency-Key, and their responses.
create table tenant.idempotency_records (
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
create index idempotency_records_expires_at_idx on tenant.idempotency_records (expires_at);

alter table tenant.idempotency_records enable row level security;
alter table tenant.idempotency_records force row level security;
create policy idempotency_records_app_select on tenant.idempotency_records for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy idempotency_records_app_insert on tenant.idempotency_records for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy idempotency_records_app_update on tenant.idempotency_records for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy idempotency_records_app_delete on tenant.idempotency_records for delete to tenant_app
  using (tenant_id = tenant.current_tenant());
-- Records of owner keys, and expired records.
create policy idempotency_records_system_select on tenant.idempotency_records for select to tenant_system
  using (tenant_id is null or expires_at <= now());
create policy idempotency_records_system_insert on tenant.idempotency_records for insert to tenant_system
  with check (tenant_id is null);
create policy idempotency_records_system_update on tenant.idempotency_records for update to tenant_system
  using (tenant_id is null) with check (tenant_id is null);
create policy idempotency_records_system_delete on tenant.idempotency_records for delete to tenant_system
  using (tenant_id is null or expires_at <= now());
grant select, insert, delete on tenant.idempotency_records to tenant_app, tenant_system;
grant update (id, fingerprint, response, expires_at) on tenant.idempotency_records to tenant_app, tenant_system;

-- Administrative changes of every service. Rows are only inserted.
create table tenant.audit_log (
  -- For changes made in another service, also the id of the event, so that repeated events are stored once.
  id uuid constraint audit_log_pkey primary key,
  at timestamptz not null default now(),
  action text not null,
  -- Null for the platform itself.
  actor_key_id uuid,
  actor_role text not null,
  actor_user_id text,
  -- Null for resources without a tenant.
  tenant_id uuid,
  resource_type text not null,
  resource_id uuid not null,
  client_ip text,
  request_id text,
  -- Public views of the resource.
  before json,
  after json
);
create index audit_log_at_idx on tenant.audit_log (at, id);
create index audit_log_tenant_id_idx on tenant.audit_log (tenant_id, at, id);
create index audit_log_actor_idx on tenant.audit_log (actor_key_id, at, id);

alter table tenant.audit_log enable row level security;
alter table tenant.audit_log force row level security;
create policy audit_log_app_insert on tenant.audit_log for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy audit_log_system_select on tenant.audit_log for select to tenant_system using (true);
create policy audit_log_system_insert on tenant.audit_log for insert to tenant_system with check (true);
grant insert on tenant.audit_log to tenant_app;
grant select, insert on tenant.audit_log to tenant_system;

-- Events that could not be read or stored, with the reason. Kept for 30 days.
create table tenant.dead_letters (
  id uuid constraint dead_letters_pkey primary key,
  received_at timestamptz not null default now(),
  -- The topic, partition and offset; or the sending service.
  origin text not null,
  reason text not null,
  payload bytea not null
);
-- Old dead letters are deleted when another one arrives.
create index dead_letters_received_at_idx on tenant.dead_letters (received_at);

alter table tenant.dead_letters enable row level security;
alter table tenant.dead_letters force row level security;
create policy dead_letters_system_select on tenant.dead_letters for select to tenant_system using (true);
create policy dead_letters_system_insert on tenant.dead_letters for insert to tenant_system with check (true);
create policy dead_letters_system_delete on tenant.dead_letters for delete to tenant_system using (true);
grant select, insert, delete on tenant.dead_letters to tenant_system;

-- Changes made in this service that are not yet published. Used only with Kafka.
create table tenant.audit_outbox (
  id bigint generated always as identity constraint audit_outbox_pkey primary key,
  partition integer not null,
  tenant_id uuid,
  -- The time of the entry, and of everything that its transaction wrote.
  occurred_at timestamptz not null default now(),
  -- The entry without its time.
  entry json not null
);
-- For reading the oldest entries of a partition, however many entries other partitions have.
create index audit_outbox_partition_idx on tenant.audit_outbox (partition, id);

alter table tenant.audit_outbox enable row level security;
alter table tenant.audit_outbox force row level security;
create policy audit_outbox_app_insert on tenant.audit_outbox for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy audit_outbox_system_select on tenant.audit_outbox for select to tenant_system using (true);
create policy audit_outbox_system_insert on tenant.audit_outbox for insert to tenant_system with check (true);
create policy audit_outbox_system_delete on tenant.audit_outbox for delete to tenant_system using (true);
grant insert on tenant.audit_outbox to tenant_app;
grant select, insert, delete on tenant.audit_outbox to tenant_system;

-- Changes that could not be published, with the reason. Kept for 30 days, at most 1,000.
create table tenant.audit_outbox_dead_letters (
  id bigint generated always as identity constraint audit_outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table tenant.audit_outbox_dead_letters enable row level security;
alter table tenant.audit_outbox_dead_letters force row level security;
create policy audit_outbox_dead_letters_system_select on tenant.audit_outbox_dead_letters
  for select to tenant_system using (true);
create policy audit_outbox_dead_letters_system_insert on tenant.audit_outbox_dead_letters
  for insert to tenant_system with check (true);
create policy audit_outbox_dead_letters_system_delete on tenant.audit_outbox_dead_letters
  for delete to tenant_system using (true);
grant select, insert, delete on tenant.audit_outbox_dead_letters to tenant_system;

--
-- Alerts for subscribers.
--

-- Alerts for subscribers that are not yet published to webhook.
create table tenant.alert_outbox (
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
create index alert_outbox_partition_idx on tenant.alert_outbox (partition, id);

alter table tenant.alert_outbox enable row level security;
alter table tenant.alert_outbox force row level security;
create policy alert_outbox_system_select on tenant.alert_outbox for select to tenant_system using (true);
create policy alert_outbox_system_insert on tenant.alert_outbox for insert to tenant_system with check (true);
create policy alert_outbox_system_delete on tenant.alert_outbox for delete to tenant_system using (true);
grant select, insert, delete on tenant.alert_outbox to tenant_system;

-- Alerts that could not be published, with the reason. Kept for 30 days, at most 1,000.
create table tenant.alert_outbox_dead_letters (
  id bigint generated always as identity constraint alert_outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table tenant.alert_outbox_dead_letters enable row level security;
alter table tenant.alert_outbox_dead_letters force row level security;
create policy alert_outbox_dead_letters_system_select on tenant.alert_outbox_dead_letters
  for select to tenant_system using (true);
create policy alert_outbox_dead_letters_system_insert on tenant.alert_outbox_dead_letters
  for insert to tenant_system with check (true);
create policy alert_outbox_dead_letters_system_delete on tenant.alert_outbox_dead_letters
  for delete to tenant_system using (true);
grant select, insert, delete on tenant.alert_outbox_dead_letters to tenant_system;

--
-- Deletions of the data of users.
--

-- Deletions of the data that users left in the services. Kept for 90 days after their completion.
create table tenant.user_deletions (
  id uuid constraint user_deletions_pkey primary key,
  tenant_id uuid not null constraint user_deletions_tenant_id_fkey references tenant.tenants (id),
  -- Kept only while the deletion runs.
  user_id text,
  -- A hash with a key of SECRETS_KEYRING, by which the tenant finds the deletion later.
  user_hash text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- Everything that the user did before this time is deleted. Later than `created_at` if the deletion was requested
  -- again.
  requested_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  constraint user_deletions_user_id_check check ((user_id is null) = (completed_at is not null))
);
-- Statistics would keep user ids after they are deleted.
alter table tenant.user_deletions alter column user_id set statistics 0;
create unique index user_deletions_running_key on tenant.user_deletions (tenant_id, user_id) where completed_at is null;
create index user_deletions_running_idx on tenant.user_deletions (created_at) where completed_at is null;
create index user_deletions_completed_idx on tenant.user_deletions (completed_at) where completed_at is not null;

alter table tenant.user_deletions enable row level security;
alter table tenant.user_deletions force row level security;
create policy user_deletions_app_select on tenant.user_deletions for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy user_deletions_app_insert on tenant.user_deletions for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy user_deletions_app_update on tenant.user_deletions for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy user_deletions_system_select on tenant.user_deletions for select to tenant_system using (true);
create policy user_deletions_system_delete on tenant.user_deletions for delete to tenant_system using (true);
grant select, insert on tenant.user_deletions to tenant_app;
grant update (user_id, user_hash, requested_at, completed_at) on tenant.user_deletions to tenant_app;
grant select, delete on tenant.user_deletions to tenant_system;

-- The part of each service in a deletion.
create table tenant.user_deletion_services (
  deletion_id uuid not null
    constraint user_deletion_services_deletion_id_fkey references tenant.user_deletions (id) on delete cascade,
  tenant_id uuid not null,
  service text not null,
  -- The rows removed so far, by kind.
  counts jsonb not null default '{}',
  -- The time of the last call of the service.
  attempted_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  constraint user_deletion_services_pkey primary key (deletion_id, service)
);
create index user_deletion_services_running_idx on tenant.user_deletion_services (attempted_at)
  where completed_at is null;

alter table tenant.user_deletion_services enable row level security;
alter table tenant.user_deletion_services force row level security;
create policy user_deletion_services_app_select on tenant.user_deletion_services for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy user_deletion_services_app_insert on tenant.user_deletion_services for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy user_deletion_services_app_update on tenant.user_deletion_services for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy user_deletion_services_system_select on tenant.user_deletion_services
  for select to tenant_system using (true);
create policy user_deletion_services_system_update on tenant.user_deletion_services
  for update to tenant_system using (true) with check (true);
grant select, insert on tenant.user_deletion_services to tenant_app;
grant update (counts, attempted_at, completed_at) on tenant.user_deletion_services to tenant_app;
grant select on tenant.user_deletion_services to tenant_system;
grant update (attempted_at) on tenant.user_deletion_services to tenant_system;

--
-- Transfers.
--

-- Previews of transfers of resources between two tenants. Deleted a day after they have expired.
create table tenant.transfer_previews (
  id uuid constraint transfer_previews_pkey primary key,
  source_tenant_id uuid not null
    constraint transfer_previews_source_tenant_id_fkey references tenant.tenants (id),
  -- No foreign key: an admin may name a tenant that does not exist, without learning that.
  target_tenant_id uuid not null,
  -- {mode, resources, include, on_conflict}
  request json not null,
  -- Resources, counts and dependencies, as the services had them.
  source json not null,
  -- Conflicts and problems; null until the target has accepted.
  target json,
  created_by uuid not null,
  -- Whether an owner has asked for it: then the target need not accept.
  by_owner boolean not null,
  accepted_at timestamptz,
  used_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '1 hour',
  constraint transfer_previews_tenants_check check (source_tenant_id <> target_tenant_id),
  constraint transfer_previews_target_check check ((target is null) = (accepted_at is null))
);
create index transfer_previews_source_tenant_id_idx on tenant.transfer_previews (source_tenant_id, expires_at);
create index transfer_previews_expires_at_idx on tenant.transfer_previews (expires_at);

alter table tenant.transfer_previews enable row level security;
alter table tenant.transfer_previews force row level security;
create policy transfer_previews_app_select on tenant.transfer_previews for select to tenant_app
  using (tenant.current_tenant() in (source_tenant_id, target_tenant_id));
create policy transfer_previews_app_insert on tenant.transfer_previews for insert to tenant_app
  with check (source_tenant_id = tenant.current_tenant());
create policy transfer_previews_app_update on tenant.transfer_previews for update to tenant_app
  using (tenant.current_tenant() in (source_tenant_id, target_tenant_id))
  with check (tenant.current_tenant() in (source_tenant_id, target_tenant_id));
create policy transfer_previews_system_select on tenant.transfer_previews for select to tenant_system using (true);
create policy transfer_previews_system_insert on tenant.transfer_previews for insert to tenant_system with check (true);
create policy transfer_previews_system_update on tenant.transfer_previews for update to tenant_system
  using (true) with check (true);
create policy transfer_previews_system_delete on tenant.transfer_previews for delete to tenant_system
  using (expires_at < now() - interval '1 day');
grant select, insert on tenant.transfer_previews to tenant_app;
grant update (target, accepted_at, used_at) on tenant.transfer_previews to tenant_app;
grant select, insert, delete on tenant.transfer_previews to tenant_system;
grant update (target, accepted_at, used_at) on tenant.transfer_previews to tenant_system;

-- Transfers of resources between two tenants. Kept for a year after their end.
create table tenant.transfers (
  id uuid constraint transfers_pkey primary key,
  preview_id uuid not null constraint transfers_preview_id_key unique,
  source_tenant_id uuid not null
    constraint transfers_source_tenant_id_fkey references tenant.tenants (id),
  target_tenant_id uuid not null
    constraint transfers_target_tenant_id_fkey references tenant.tenants (id),
  mode text not null constraint transfers_mode_check check (mode in ('copy', 'move')),
  -- The content as sent to services: {includeMemory, includeKnowledgeGraph, withSecrets, items}
  content json not null,
  phase text not null constraint transfers_phase_check
    check (phase in ('locking', 'copying', 'closing', 'committing', 'aborting', 'completed', 'failed')),
  -- The time at which the phase began.
  phase_at timestamptz not null default now(),
  -- {code, message}: why it is undone.
  error json,
  -- The request that began it: {actor, clientIp, requestId}
  asked json not null,
  -- The time at which a job last worked on it.
  attempted_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  finished_at timestamptz
);
create index transfers_source_tenant_id_idx on tenant.transfers (source_tenant_id, id);
create index transfers_target_tenant_id_idx on tenant.transfers (target_tenant_id, id);
create index transfers_running_idx on tenant.transfers (attempted_at) where finished_at is null;
create index transfers_finished_at_idx on tenant.transfers (finished_at) where finished_at is not null;

alter table tenant.transfers enable row level security;
alter table tenant.transfers force row level security;
create policy transfers_app_select on tenant.transfers for select to tenant_app
  using (tenant.current_tenant() in (source_tenant_id, target_tenant_id));
create policy transfers_app_insert on tenant.transfers for insert to tenant_app
  with check (source_tenant_id = tenant.current_tenant());
create policy transfers_system_select on tenant.transfers for select to tenant_system using (true);
create policy transfers_system_insert on tenant.transfers for insert to tenant_system with check (true);
create policy transfers_system_update on tenant.transfers for update to tenant_system using (true) with check (true);
create policy transfers_system_delete on tenant.transfers for delete to tenant_system
  using (finished_at < now() - interval '1 year');
grant select, insert on tenant.transfers to tenant_app;
grant select, insert, delete on tenant.transfers to tenant_system;
grant update (phase, phase_at, error, attempted_at, finished_at) on tenant.transfers to tenant_system;

-- Resources that transfers under way use: of two transfers with the same resource, one is refused.
create table tenant.transfer_resources (
  resource_id uuid constraint transfer_resources_pkey primary key,
  transfer_id uuid not null
    constraint transfer_resources_transfer_id_fkey references tenant.transfers on delete cascade,
  -- The source of the transfer.
  tenant_id uuid not null
);
create index transfer_resources_transfer_id_idx on tenant.transfer_resources (transfer_id);

alter table tenant.transfer_resources enable row level security;
alter table tenant.transfer_resources force row level security;
create policy transfer_resources_app_insert on tenant.transfer_resources for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy transfer_resources_system_select on tenant.transfer_resources for select to tenant_system using (true);
create policy transfer_resources_system_insert on tenant.transfer_resources for insert to tenant_system
  with check (true);
create policy transfer_resources_system_delete on tenant.transfer_resources for delete to tenant_system using (true);
grant insert on tenant.transfer_resources to tenant_app;
grant select, insert, delete on tenant.transfer_resources to tenant_system;
