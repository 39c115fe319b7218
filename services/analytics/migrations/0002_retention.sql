-- Traces are deleted after the retention of their tenant, and dead letters after a month. Rows of `usage` are never
-- deleted, because bills depend on them.

-- For retention, which reads the rows of one tenant from the oldest on; ids are ordered by time.
create index traces_tenant_id_idx on analytics.traces (tenant_id, id);
create index dead_letters_received_at_idx on analytics.dead_letters (received_at);

create policy traces_system_delete on analytics.traces for delete to analytics_system using (true);
create policy dead_letters_system_select on analytics.dead_letters for select to analytics_system using (true);
create policy dead_letters_system_delete on analytics.dead_letters for delete to analytics_system using (true);
grant delete on analytics.traces to analytics_system;
-- The age of dead letters, never their content.
grant select (id, received_at), delete on analytics.dead_letters to analytics_system;

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
