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

-- How a value begins: the version, and the id of the key that has wrapped its data key. Null for none.
create function tenant.sealed_by(sealed bytea) returns bytea language sql immutable parallel safe
return case when octet_length(sealed) > 2 then substring(sealed from 1 for 2 + get_byte(substring(sealed from 2 for 1), 0)) end;

-- Budgets of a new tenant count by its first zone.
create function tenant.add_budget_timezone() returns trigger language plpgsql as $$
begin
  new.budget_timezone := coalesce(new.budget_timezone, new.timezone);
  return new;
end;
$$;
revoke execute on function tenant.add_budget_timezone() from public;

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
  updated_at timestamptz not null default now(),
  -- Bounds of the keys that people make for themselves.
  user_keys_enabled boolean not null default true,
  user_keys_max integer not null default 5,
  user_keys_max_days integer not null default 90,
  -- The zone whose days and months budgets count. It is the operator's: an admin of the tenant changes `timezone` alone,
  -- so that no order of zones begins a new day of a budget.
  budget_timezone text not null
);

alter table tenant.tenants enable row level security;
alter table tenant.tenants force row level security;
create policy tenants_app_select on tenant.tenants for select to tenant_app
  using (id = tenant.current_tenant());
-- Admins of a tenant change some of its settings.
create policy tenants_app_update on tenant.tenants for update to tenant_app
  using (id = tenant.current_tenant()) with check (id = tenant.current_tenant());
create policy tenants_system_select on tenant.tenants for select to tenant_system using (true);
create policy tenants_system_insert on tenant.tenants for insert to tenant_system with check (true);
create policy tenants_system_update on tenant.tenants for update to tenant_system using (true) with check (true);
grant select on tenant.tenants to tenant_app;
grant update (timezone, previews_enabled, previews_max_chars, user_keys_enabled, user_keys_max, user_keys_max_days,
  updated_at) on tenant.tenants to tenant_app;
grant select, insert on tenant.tenants to tenant_system;
grant update (slug, name, status, limits, budget, allowed_models, timezone, retention_days, previews_enabled,
  previews_max_chars, memory_limits, updated_at, user_keys_enabled, user_keys_max, user_keys_max_days) on tenant.tenants
  to tenant_system;
grant update (budget_timezone) on tenant.tenants to tenant_system;

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
  -- Approximate: updated at most once an hour.
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  -- The expiry that subscribers were sent an event for.
  expiry_alert_for timestamptz,
  -- A person at an OpenID Connect issuer, who has a key in each tenant that a mapping gives them: it has the rights, its
  -- secret is thrown away, and all sessions of the person end with it.
  iss text,
  sub text,
  -- Keys that people give to programs on their machines by a code (RFC 8628) have the key whose session confirmed them, and
  -- the secret that this session was made with. They end with either.
  confirmed_by uuid constraint api_keys_confirmed_by_fkey references tenant.api_keys (id),
  confirmed_secret_sha256 bytea,
  -- Whether a person made it for themselves: it ends with the key of their session, as keys of programs do.
  is_own boolean not null default false,
  -- Whether the present secret was used since the last renewal: then its client has it, and needs the one before no more.
  secret_used boolean not null default true,
  -- Hashes of the secrets that renewals have replaced, the newest last.
  replaced_sha256 bytea[] not null default '{}',
  constraint api_keys_tenant_check check ((role = 'owner') = (tenant_id is null)),
  constraint api_keys_previous_check check ((previous_secret_sha256 is null) = (previous_valid_until is null)),
  constraint api_keys_person_check check ((iss is null) = (sub is null)),
  constraint api_keys_confirmed_check check ((confirmed_by is null) = (confirmed_secret_sha256 is null)),
  constraint api_keys_confirmed_end_check check (confirmed_by is null or expires_at is not null),
  constraint api_keys_own_check check (not is_own or (confirmed_by is not null and user_id is not null)),
  constraint api_keys_replaced_check check (cardinality(replaced_sha256) <= 100)
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
-- For the keys of a person.
create index api_keys_person_idx on tenant.api_keys (iss, sub) where iss is not null;
-- For the keys that end with another, and their number.
create index api_keys_confirmed_by_idx on tenant.api_keys (confirmed_by, id) where confirmed_by is not null;
-- For the deletion of those that ended long ago.
create index api_keys_confirmed_end_idx on tenant.api_keys (expires_at) where confirmed_by is not null;
-- For the keys that a person has made or given to programs, and the number of the first.
create index api_keys_confirmed_user_idx on tenant.api_keys (tenant_id, user_id, id) where confirmed_by is not null;

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
create policy api_keys_system_delete on tenant.api_keys for delete to tenant_system using (confirmed_by is not null);
grant select, insert on tenant.api_keys to tenant_app;
-- The rights of a key never change; only its secret and its end do.
grant update (secret_sha256, previous_secret_sha256, previous_valid_until, revoked_at) on tenant.api_keys to tenant_app;
grant update (expires_at) on tenant.api_keys to tenant_app;
grant select, insert on tenant.api_keys to tenant_system;
grant update (last_used_at, revoked_at, expiry_alert_for) on tenant.api_keys to tenant_system;
grant update (expires_at, secret_sha256, previous_secret_sha256, previous_valid_until) on tenant.api_keys
  to tenant_system;
grant delete on tenant.api_keys to tenant_system;
grant update (secret_used, replaced_sha256) on tenant.api_keys to tenant_system;

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
  -- The part of `amount` that a replica leased in advance, for requests that have not come. The rest is reserved.
  spare numeric not null default 0
    constraint limit_holds_spare_check check (spare >= 0),
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
  id uuid not null,
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
  after json,
  -- A repeated event has the time of the first.
  constraint audit_log_pkey primary key (id, at)
) partition by range (at);
create index audit_log_at_idx on tenant.audit_log (at, id);
create index audit_log_tenant_id_idx on tenant.audit_log (tenant_id, at, id);
create index audit_log_actor_idx on tenant.audit_log (actor_key_id, at, id);

alter table tenant.audit_log enable row level security;
alter table tenant.audit_log force row level security;
create policy audit_log_app_select on tenant.audit_log for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy audit_log_app_insert on tenant.audit_log for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy audit_log_system_select on tenant.audit_log for select to tenant_system using (true);
create policy audit_log_system_insert on tenant.audit_log for insert to tenant_system with check (true);
grant select, insert on tenant.audit_log to tenant_app, tenant_system;

-- Entries of months without a partition: no change fails for want of one.
create table tenant.audit_log_strays partition of tenant.audit_log default;

alter table tenant.audit_log_strays enable row level security;
alter table tenant.audit_log_strays force row level security;

-- Creates the partitions of this month and the next three, unless they exist. A month whose entries are among the strays
-- gets none.
create function tenant.ensure_audit_partitions() returns void language plpgsql
  security definer set search_path = tenant, pg_temp set lock_timeout = '500ms' as $$
declare
  month date;
  name text;
  first timestamptz;
  next timestamptz;
begin
  -- Two replicas may call this at the same time.
  perform pg_advisory_xact_lock(hashtext('tenant.audit_partitions'));
  for offset_months in 0..3 loop
    month := date_trunc('month', now() at time zone 'UTC') + make_interval(months => offset_months);
    name := 'audit_log_' || to_char(month, 'YYYY_MM');
    first := month::timestamp at time zone 'UTC';
    next := (month + interval '1 month')::timestamp at time zone 'UTC';
    continue when to_regclass(format('tenant.%I', name)) is not null
      or exists (select from tenant.audit_log_strays where at >= first and at < next);
    execute format('create table tenant.%I partition of tenant.audit_log for values from (%L) to (%L)', name, first, next);
    -- Accessible only through the parent and its policies.
    execute format('alter table tenant.%I enable row level security', name);
    execute format('alter table tenant.%I force row level security', name);
  end loop;
end
$$;
revoke execute on function tenant.ensure_audit_partitions() from public;
grant execute on function tenant.ensure_audit_partitions() to tenant_system;

-- Drops the oldest partition if it ended more than that many days ago, and returns its name; else null. Entries stay for
-- 30 days in any case. Waits at most 500 ms for readers, because later queries queue behind it.
create function tenant.drop_old_audit_partition(days integer) returns text language plpgsql
  security definer set search_path = tenant, pg_temp set lock_timeout = '500ms' as $$
declare
  name text;
begin
  if days < 30 then
    raise exception 'the audit log stays for 30 days';
  end if;
  if not pg_try_advisory_xact_lock(hashtext('tenant.audit_partitions')) then
    return null;
  end if;
  select relname into name
  from (
    select relname, case
        when relname ~ '^audit_log_\d{4}_\d{2}$' then to_date(substr(relname, 11), 'YYYY_MM') + interval '1 month'
      end as ends
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'tenant.audit_log'::regclass
  ) as partitions
  where ends at time zone 'UTC' < now() - make_interval(days => days)
  order by ends limit 1;
  if name is not null then
    execute format('drop table tenant.%I', name);
  end if;
  return name;
end
$$;
revoke execute on function tenant.drop_old_audit_partition(integer) from public;
grant execute on function tenant.drop_old_audit_partition(integer) to tenant_system;

-- Deletes entries older than that many days which are among the strays, some at a time. Returns their number.
create function tenant.delete_stray_audit_entries(days integer) returns integer language plpgsql
  security definer set search_path = tenant, pg_temp as $$
declare
  deleted integer;
begin
  if days < 30 then
    raise exception 'the audit log stays for 30 days';
  end if;
  delete from tenant.audit_log_strays where (id, at) in (
    select id, at from tenant.audit_log_strays where at < now() - make_interval(days => days) order by at limit 1000);
  get diagnostics deleted = row_count;
  return deleted;
end
$$;
revoke execute on function tenant.delete_stray_audit_entries(integer) from public;
grant execute on function tenant.delete_stray_audit_entries(integer) to tenant_system;

select tenant.ensure_audit_partitions();

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
-- For the last deletion that a user has requested.
create index user_deletions_user_idx on tenant.user_deletions (tenant_id, user_hash, requested_at);

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

-- Keys of tenants' own for model providers.
create table tenant.provider_keys (
  id uuid constraint provider_keys_pkey primary key,
  tenant_id uuid not null constraint provider_keys_tenant_id_fkey references tenant.tenants (id),
  -- Name of a provider of chat's catalogue.
  provider text not null,
  -- Encrypted.
  key bytea not null,
  -- The beginning of the key, to recognize it by.
  prefix text not null,
  -- Null for all models of the provider.
  models text[],
  -- The user whose requests the key is for; null for all.
  user_id text,
  -- Whether the provider refused the key when it was used last.
  failing boolean not null default false,
  created_at timestamptz not null default now(),
  -- Approximate: updated at most once a minute.
  last_used_at timestamptz
);
create index provider_keys_tenant_id_idx on tenant.provider_keys (tenant_id, id);
-- Few keys have values: an index has one entry for each list of them.
create index provider_keys_key_sealed_by_idx on tenant.provider_keys (tenant.sealed_by(key));

alter table tenant.provider_keys enable row level security;
alter table tenant.provider_keys force row level security;
create policy provider_keys_app_select on tenant.provider_keys for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy provider_keys_app_insert on tenant.provider_keys for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy provider_keys_app_update on tenant.provider_keys for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy provider_keys_app_delete on tenant.provider_keys for delete to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy provider_keys_system_select on tenant.provider_keys for select to tenant_system using (true);
create policy provider_keys_system_update on tenant.provider_keys for update to tenant_system
  using (true) with check (true);
grant select, insert, delete on tenant.provider_keys to tenant_app;
-- For encryption with another key.
grant update (key) on tenant.provider_keys to tenant_app;
grant select on tenant.provider_keys to tenant_system;
grant update (failing, last_used_at) on tenant.provider_keys to tenant_system;

-- Keys for model providers that a tenant gave in its last minute with any: each is checked by a call of the provider.
create table tenant.provider_key_checks (
  tenant_id uuid constraint provider_key_checks_pkey primary key
    constraint provider_key_checks_tenant_id_fkey references tenant.tenants (id),
  minute timestamptz not null,
  checks integer not null
) with (fillfactor = 50);

alter table tenant.provider_key_checks enable row level security;
alter table tenant.provider_key_checks force row level security;
create policy provider_key_checks_app_select on tenant.provider_key_checks for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy provider_key_checks_app_insert on tenant.provider_key_checks for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy provider_key_checks_app_update on tenant.provider_key_checks for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
grant select, insert on tenant.provider_key_checks to tenant_app;
grant update (minute, checks) on tenant.provider_key_checks to tenant_app;

-- Networks whose logins were refused, with their number in a minute.
create table tenant.refused_addresses (
  address text constraint refused_addresses_pkey primary key,
  minute timestamptz not null,
  requests integer not null
);
create index refused_addresses_minute_idx on tenant.refused_addresses (minute);

alter table tenant.refused_addresses enable row level security;
alter table tenant.refused_addresses force row level security;
create policy refused_addresses_system_select on tenant.refused_addresses for select to tenant_system using (true);
create policy refused_addresses_system_insert on tenant.refused_addresses for insert to tenant_system
  with check (true);
create policy refused_addresses_system_update on tenant.refused_addresses for update to tenant_system
  using (true) with check (true);
create policy refused_addresses_system_delete on tenant.refused_addresses for delete to tenant_system using (true);
grant select, insert, delete on tenant.refused_addresses to tenant_system;
grant update (minute, requests) on tenant.refused_addresses to tenant_system;

-- Logins of people by OpenID Connect issuers.
create table tenant.logins (
  id uuid constraint logins_pkey primary key,
  -- The name of the issuer in the settings.
  issuer text not null,
  iss text not null,
  sub text not null,
  -- The session at the issuer, where it says one.
  sid text,
  -- The browser that chooses among several tenants knows the token; null once it has chosen.
  choice_sha256 bytea
    constraint logins_choice_key unique
    constraint logins_choice_check check (octet_length(choice_sha256) = 32),
  -- Sealed.
  id_token bytea not null,
  refresh_token bytea,
  -- When the issuer confirmed the person last.
  looked_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- When the issuer is asked again; null where it is not: without a refresh token, and after the last session.
  look_at timestamptz,
  -- How often it was asked. A replica that was slow doesn't overwrite the result of the next look.
  looks integer not null default 0,
  -- When the groups of a person were read last. A token that leaves them out says nothing about the person, and those that
  -- are known count for a bounded time.
  groups_read_at timestamptz not null default now()
);
-- For the deletion of old ones.
create index logins_expires_at_idx on tenant.logins (expires_at);
-- For looks that are due.
create index logins_look_at_idx on tenant.logins (issuer, look_at) where look_at is not null;
-- For looks that have failed for too long.
create index logins_looked_at_idx on tenant.logins (issuer, looked_at) where refresh_token is not null;
-- For logouts of people, and of their sessions at the issuer.
create index logins_person_idx on tenant.logins (iss, sub);
create index logins_sid_idx on tenant.logins (iss, sid) where sid is not null;
create index logins_id_token_sealed_by_idx on tenant.logins (tenant.sealed_by(id_token));
create index logins_refresh_token_sealed_by_idx on tenant.logins (tenant.sealed_by(refresh_token))
  where refresh_token is not null;

alter table tenant.logins enable row level security;
alter table tenant.logins force row level security;
create policy logins_system_select on tenant.logins for select to tenant_system using (true);
create policy logins_system_insert on tenant.logins for insert to tenant_system with check (true);
create policy logins_system_update on tenant.logins for update to tenant_system using (true) with check (true);
create policy logins_system_delete on tenant.logins for delete to tenant_system using (true);
grant select, insert, delete on tenant.logins to tenant_system;
grant update (choice_sha256, id_token, refresh_token, looked_at, look_at, looks, groups_read_at) on tenant.logins
  to tenant_system;

-- Sessions of people who use pages of the gateway in a browser, of tenants and of owners, who belong to no tenant.
create table tenant.sessions (
  id uuid constraint sessions_pkey primary key,
  tenant_id uuid constraint sessions_tenant_id_fkey references tenant.tenants (id),
  token_sha256 bytea not null
    constraint sessions_token_sha256_key unique
    constraint sessions_token_check check (octet_length(token_sha256) = 32),
  -- The key that it was made with. The session ends with it.
  key_id uuid not null constraint sessions_key_id_fkey references tenant.api_keys (id),
  -- The secret that it was made with: it ends when that is no longer valid, as after a rotation.
  key_secret_sha256 bytea not null,
  name text not null,
  role text not null constraint sessions_role_check check (role in ('owner', 'admin', 'user')),
  scopes text[] not null,
  user_id text,
  created_at timestamptz not null default now(),
  -- Approximate: updated at most once a minute.
  last_seen_at timestamptz not null default now(),
  -- It ends then, however much it is used.
  expires_at timestamptz not null,
  -- It ends then if it is not used before, or has ended.
  ends_at timestamptz not null,
  login_id uuid constraint sessions_login_id_fkey references tenant.logins (id),
  -- How a session was opened.
  opened_by text
    constraint sessions_opened_by_check check (opened_by in ('key', 'issuer', 'link', 'device')),
  constraint sessions_tenant_check check ((role = 'owner') = (tenant_id is null)),
  constraint sessions_ends_at_check check (ends_at <= expires_at)
);
-- For the list of a tenant and its number of sessions.
create index sessions_tenant_id_idx on tenant.sessions (tenant_id, id);
-- For the number of sessions of a key.
create index sessions_key_id_idx on tenant.sessions (key_id, id);
-- For the deletion of ended sessions.
create index sessions_ends_at_idx on tenant.sessions (ends_at);
-- For the sessions of a login.
create index sessions_login_id_idx on tenant.sessions (login_id) where login_id is not null;

alter table tenant.sessions enable row level security;
alter table tenant.sessions force row level security;
create policy sessions_app_select on tenant.sessions for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy sessions_app_insert on tenant.sessions for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy sessions_app_update on tenant.sessions for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy sessions_system_select on tenant.sessions for select to tenant_system using (true);
create policy sessions_system_insert on tenant.sessions for insert to tenant_system with check (true);
create policy sessions_system_update on tenant.sessions for update to tenant_system using (true) with check (true);
create policy sessions_system_delete on tenant.sessions for delete to tenant_system using (true);
grant select, insert on tenant.sessions to tenant_app;
-- The rights of a session never change; only its end does.
grant update (ends_at) on tenant.sessions to tenant_app;
grant select, insert, delete on tenant.sessions to tenant_system;
grant update (last_seen_at, ends_at) on tenant.sessions to tenant_system;

-- Random values of logins that were used, so that none is used twice.
create table tenant.used_tokens (
  token_sha256 bytea constraint used_tokens_pkey primary key,
  expires_at timestamptz not null
);
create index used_tokens_expires_at_idx on tenant.used_tokens (expires_at);

alter table tenant.used_tokens enable row level security;
alter table tenant.used_tokens force row level security;
create policy used_tokens_system_select on tenant.used_tokens for select to tenant_system using (true);
create policy used_tokens_system_insert on tenant.used_tokens for insert to tenant_system with check (true);
create policy used_tokens_system_delete on tenant.used_tokens for delete to tenant_system using (true);
grant select, insert, delete on tenant.used_tokens to tenant_system;

-- Programs that wait for a key. They belong to no tenant before a person has confirmed them.
create table tenant.device_logins (
  id uuid constraint device_logins_pkey primary key,
  -- The code that the program keeps, and the one that the person reads.
  device_sha256 bytea not null
    constraint device_logins_device_key unique
    constraint device_logins_device_check check (octet_length(device_sha256) = 32),
  user_sha256 bytea not null
    constraint device_logins_user_key unique
    constraint device_logins_user_check check (octet_length(user_sha256) = 32),
  client_id text not null,
  client_ip text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  polled_at timestamptz,
  -- When a person decided, and the session in which they allowed it; null for one that they denied.
  decided_at timestamptz,
  session_id uuid,
  -- The network of a program that waits for a person, so that a few networks can't take all places.
  network text,
  -- The wider network of a program that waits for a person, so that one with many small networks can't take all places.
  wide_network text,
  constraint device_logins_session_check check (session_id is null or decided_at is not null)
);
-- For the deletion of old ones.
create index device_logins_expires_at_idx on tenant.device_logins (expires_at);
create index device_logins_network_idx on tenant.device_logins (network) where decided_at is null;
create index device_logins_wide_network_idx on tenant.device_logins (wide_network) where decided_at is null;

alter table tenant.device_logins enable row level security;
alter table tenant.device_logins force row level security;
create policy device_logins_system_select on tenant.device_logins for select to tenant_system using (true);
create policy device_logins_system_insert on tenant.device_logins for insert to tenant_system with check (true);
create policy device_logins_system_update on tenant.device_logins for update to tenant_system
  using (true) with check (true);
create policy device_logins_system_delete on tenant.device_logins for delete to tenant_system using (true);
grant select, insert, delete on tenant.device_logins to tenant_system;
grant update (polled_at, decided_at, session_id) on tenant.device_logins to tenant_system;

-- Links that log in once, each with the public half of a key's text and the secret that the key must still have.
create table tenant.login_tickets (
  ticket_sha256 bytea constraint login_tickets_pkey primary key
    constraint login_tickets_ticket_check check (octet_length(ticket_sha256) = 32),
  key_id text not null,
  secret_sha256 bytea not null,
  expires_at timestamptz not null
);
-- For the deletion of old ones.
create index login_tickets_expires_at_idx on tenant.login_tickets (expires_at);

alter table tenant.login_tickets enable row level security;
alter table tenant.login_tickets force row level security;
create policy login_tickets_system_select on tenant.login_tickets for select to tenant_system using (true);
create policy login_tickets_system_insert on tenant.login_tickets for insert to tenant_system with check (true);
create policy login_tickets_system_delete on tenant.login_tickets for delete to tenant_system using (true);
grant select, insert, delete on tenant.login_tickets to tenant_system;

-- Keys of programs end with the key whose session confirmed them.
create function tenant.end_program_keys() returns trigger language plpgsql as $$
begin
  update tenant.api_keys as program set
    revoked_at = case when new.revoked_at is not null then now() end,
    expires_at = case
      when program.confirmed_secret_sha256 = new.secret_sha256 then program.expires_at
      when program.confirmed_secret_sha256 = new.previous_secret_sha256
        then least(program.expires_at, new.previous_valid_until)
      else least(program.expires_at, now())
    end
  where program.confirmed_by = new.id and program.revoked_at is null
    and (new.revoked_at is not null or program.expires_at > now());
  return null;
end;
$$;
revoke execute on function tenant.end_program_keys() from public;
create trigger api_keys_end_programs
  after update of revoked_at, secret_sha256, previous_secret_sha256, previous_valid_until on tenant.api_keys
  for each row
  when (new.confirmed_by is null and (new.revoked_at, new.secret_sha256, new.previous_secret_sha256,
    new.previous_valid_until) is distinct from (old.revoked_at, old.secret_sha256, old.previous_secret_sha256,
    old.previous_valid_until))
  execute function tenant.end_program_keys();

-- Logouts that issuers have reported, for as long as logins that were under way then may open a session.
create table tenant.issuer_logouts (
  id uuid constraint issuer_logouts_pkey primary key,
  iss text not null,
  sub text,
  -- The session at the issuer; null for all sessions of the person.
  sid text,
  ended_at timestamptz not null,
  constraint issuer_logouts_named_check check (coalesce(sub, sid) is not null)
);
create index issuer_logouts_sid_idx on tenant.issuer_logouts (iss, sid) where sid is not null;
create index issuer_logouts_sub_idx on tenant.issuer_logouts (iss, sub) where sid is null;
-- For the deletion of old ones.
create index issuer_logouts_ended_at_idx on tenant.issuer_logouts (ended_at);

alter table tenant.issuer_logouts enable row level security;
alter table tenant.issuer_logouts force row level security;
create policy issuer_logouts_app_select on tenant.issuer_logouts for select to tenant_app
  using (iss = current_setting('gatehouse.login_iss', true)
    and (sub = current_setting('gatehouse.login_sub', true) or sid = current_setting('gatehouse.login_sid', true)));
create policy issuer_logouts_system_select on tenant.issuer_logouts for select to tenant_system using (true);
create policy issuer_logouts_system_insert on tenant.issuer_logouts for insert to tenant_system with check (true);
create policy issuer_logouts_system_delete on tenant.issuer_logouts for delete to tenant_system using (true);
grant select on tenant.issuer_logouts to tenant_app;
grant select, insert, delete on tenant.issuer_logouts to tenant_system;

-- Changes of keys and tenants that other services keep in memory. They ask several times a second for those since they
-- last asked (ADR 9).
create table tenant.changes (
  -- The transaction of the change: a snapshot says which ones it contains, in whatever order they commit.
  xid xid8 not null default pg_current_xact_id(),
  at timestamptz not null default clock_timestamp(),
  -- Null for a key of an owner.
  tenant_id uuid,
  -- The public part of the text of the changed key; null for the tenant itself, its own keys for providers and
  -- the limits of its keys.
  key_id text,
  constraint changes_subject_check check (tenant_id is not null or key_id is not null)
);
create index changes_xid_idx on tenant.changes (xid);
-- For the deletion of old ones.
create index changes_at_idx on tenant.changes (at);

alter table tenant.changes enable row level security;
alter table tenant.changes force row level security;
create policy changes_app_insert on tenant.changes for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy changes_system_select on tenant.changes for select to tenant_system using (true);
create policy changes_system_insert on tenant.changes for insert to tenant_system with check (true);
create policy changes_system_delete on tenant.changes for delete to tenant_system using (true);
grant insert on tenant.changes to tenant_app;
grant select, insert, delete on tenant.changes to tenant_system;

create function tenant.add_key_change() returns trigger language plpgsql as $$
begin
  insert into tenant.changes (tenant_id, key_id) values (old.tenant_id, old.key_id);
  return null;
end;
$$;

create function tenant.add_tenant_change() returns trigger language plpgsql as $$
begin
  insert into tenant.changes (tenant_id) values (new.id);
  return null;
end;
$$;

-- For a row of a tenant that is part of its settings.
create function tenant.add_settings_change() returns trigger language plpgsql as $$
begin
  insert into tenant.changes (tenant_id) values (coalesce(new.tenant_id, old.tenant_id));
  return null;
end;
$$;
revoke execute on function tenant.add_key_change() from public;
revoke execute on function tenant.add_tenant_change() from public;
revoke execute on function tenant.add_settings_change() from public;
create trigger api_keys_changed
  after update of tenant_id, secret_sha256, previous_secret_sha256, previous_valid_until, role, scopes, user_id,
    expires_at, revoked_at, confirmed_by on tenant.api_keys
  for each row
  when ((new.tenant_id, new.secret_sha256, new.previous_secret_sha256, new.previous_valid_until, new.role, new.scopes,
    new.user_id, new.expires_at, new.revoked_at, new.confirmed_by) is distinct from (old.tenant_id, old.secret_sha256,
    old.previous_secret_sha256, old.previous_valid_until, old.role, old.scopes, old.user_id, old.expires_at,
    old.revoked_at, old.confirmed_by))
  execute function tenant.add_key_change();
create trigger api_keys_deleted after delete on tenant.api_keys
  for each row execute function tenant.add_key_change();

-- Settings say whether any key of the tenant has limits.
create trigger api_keys_limited after insert on tenant.api_keys
  for each row when (new.tenant_id is not null and (new.limits is not null or new.budget is not null))
  execute function tenant.add_settings_change();
create trigger tenants_changed after update on tenant.tenants
  for each row execute function tenant.add_tenant_change();
create trigger provider_keys_changed after insert or delete or update of provider, key, models, user_id
  on tenant.provider_keys
  for each row execute function tenant.add_settings_change();

-- Networks from which people have logged in with success: some places for programs that wait for a person are theirs, so
-- that networks without a login can't take all of them.
create table tenant.login_networks (
  network text constraint login_networks_pkey primary key,
  last_login_at timestamptz not null default now()
);
-- For the deletion of old ones.
create index login_networks_last_login_at_idx on tenant.login_networks (last_login_at);

alter table tenant.login_networks enable row level security;
alter table tenant.login_networks force row level security;
create policy login_networks_system_select on tenant.login_networks for select to tenant_system using (true);
create policy login_networks_system_insert on tenant.login_networks for insert to tenant_system with check (true);
create policy login_networks_system_update on tenant.login_networks for update to tenant_system
  using (true) with check (true);
create policy login_networks_system_delete on tenant.login_networks for delete to tenant_system using (true);
grant select, insert, delete on tenant.login_networks to tenant_system;
grant update (last_login_at) on tenant.login_networks to tenant_system;

-- Refresh tokens of ended logins that their issuers have not revoked yet: asked again for a day.
create table tenant.token_revocations (
  id uuid constraint token_revocations_pkey primary key,
  -- The name of the issuer in the settings.
  issuer text not null,
  login_id uuid not null,
  -- The person: who has logged in again meanwhile keeps the tokens.
  iss text not null,
  sub text not null,
  -- Encrypted, as that of the login was.
  refresh_token bytea not null,
  attempts integer not null default 0,
  next_at timestamptz not null,
  created_at timestamptz not null default now()
);
create index token_revocations_issuer_idx on tenant.token_revocations (issuer, next_at);
-- For the deletion of old ones.
create index token_revocations_created_at_idx on tenant.token_revocations (created_at);

alter table tenant.token_revocations enable row level security;
alter table tenant.token_revocations force row level security;
create policy token_revocations_system_select on tenant.token_revocations for select to tenant_system using (true);
create policy token_revocations_system_insert on tenant.token_revocations for insert to tenant_system with check (true);
create policy token_revocations_system_update on tenant.token_revocations for update to tenant_system
  using (true) with check (true);
create policy token_revocations_system_delete on tenant.token_revocations for delete to tenant_system using (true);
grant select, insert, delete on tenant.token_revocations to tenant_system;
grant update (attempts, next_at) on tenant.token_revocations to tenant_system;
create trigger tenants_budget_timezone before insert on tenant.tenants
  for each row execute function tenant.add_budget_timezone();
