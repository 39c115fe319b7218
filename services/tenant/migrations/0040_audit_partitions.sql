-- The audit log by month, so that old entries can be dropped. The entries so far become its first partition.
alter table tenant.audit_log rename to audit_log_first;
alter table tenant.audit_log_first rename constraint audit_log_pkey to audit_log_first_pkey;
alter index tenant.audit_log_at_idx rename to audit_log_first_at_idx;
alter index tenant.audit_log_tenant_id_idx rename to audit_log_first_tenant_id_idx;
alter index tenant.audit_log_actor_idx rename to audit_log_first_actor_idx;
drop policy audit_log_app_insert on tenant.audit_log_first;
drop policy audit_log_app_select on tenant.audit_log_first;
drop policy audit_log_system_select on tenant.audit_log_first;
drop policy audit_log_system_insert on tenant.audit_log_first;
revoke all on tenant.audit_log_first from tenant_app, tenant_system;

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

-- The first partition ends with the month of its last entry, or of today.
alter table tenant.audit_log_first drop constraint audit_log_first_pkey;
alter table tenant.audit_log_first add constraint audit_log_first_pkey primary key (id, at);
do $$
declare
  ends date := (select date_trunc('month', greatest(now(), max(at)) at time zone 'UTC') + interval '1 month'
                from tenant.audit_log_first);
begin
  execute format('alter table tenant.audit_log attach partition tenant.audit_log_first for values from (minvalue) to (%L)',
                 ends::timestamp at time zone 'UTC');
  execute format('alter table tenant.audit_log_first rename to %I', 'audit_log_until_' || to_char(ends, 'YYYY_MM'));
end
$$;

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
      or exists (
        select from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = 'tenant.audit_log'::regclass and relname ~ '^audit_log_until_\d{4}_\d{2}$'
          and to_date(substr(relname, 17), 'YYYY_MM') > month)
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
        when relname ~ '^audit_log_until_\d{4}_\d{2}$' then to_date(substr(relname, 17), 'YYYY_MM')
        when relname ~ '^audit_log_\d{4}_\d{2}$' then (to_date(substr(relname, 11), 'YYYY_MM') + interval '1 month')::date
      end as ends
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'tenant.audit_log'::regclass
  ) as partitions
  where ends::timestamp at time zone 'UTC' < now() - make_interval(days => days)
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
