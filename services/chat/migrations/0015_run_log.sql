-- Runs as a log: every instance appends the starts and ends of its runs, many in one row, and publishes the ends itself.
-- It deletes rows of no use seldom, many in one statement.

-- Set when another instance has taken over the log of a dead one: nothing is appended to it any more.
alter table chat.instances add column log_taken_at timestamptz;

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
