-- What is under way and what is not told yet is all that is kept of runs: analytics has the rest. A run is a row while
-- it lasts, with its calls in it; its end takes that row away and leaves the event about it, both in one statement.

-- Nothing may be written or lost meanwhile.
lock table chat.runs, chat.attempts, chat.outbox in access exclusive mode;
-- No policy lets the owner see rows, who would take the tables for empty.
alter table chat.runs no force row level security;
alter table chat.outbox no force row level security;
do $$
begin
  if exists (select from chat.outbox) or exists (select from chat.runs where status = 'started') then
    raise exception 'runs are under way or not published yet; stop what sends requests, let chat of the release before run until gatehouse_runs_open and gatehouse_outbox_entries are 0, then migrate again';
  end if;
end
$$;

-- One accepted client request that has no end yet. Committed before the first byte goes to a provider.
create table chat.open_runs (
  id uuid constraint open_runs_pkey primary key,
  tenant_id uuid not null,
  instance_id uuid not null,
  started_at timestamptz not null default now(),
  -- The budgets that it was reserved in, JSON: [{subjectId, windowStart}]; null when there are none.
  charges text,
  -- JSON, the data of the event about its start but for the time. Text because nobody looks into it but who wrote it.
  run text not null,
  -- JSON, its calls of providers so far in their order, the last one without an end. The next call replaces it whole.
  attempts text not null
) with (toast_tuple_target = 8160);

alter table chat.open_runs enable row level security;
alter table chat.open_runs force row level security;
create policy open_runs_system_select on chat.open_runs for select to chat_system using (true);
create policy open_runs_system_insert on chat.open_runs for insert to chat_system with check (true);
create policy open_runs_system_update on chat.open_runs for update to chat_system using (true) with check (true);
create policy open_runs_system_delete on chat.open_runs for delete to chat_system using (true);
grant select, insert, update, delete on chat.open_runs to chat_system;

drop table chat.attempts;
drop table chat.runs;
drop function chat.first_id_at(timestamptz);

-- Events carry what they tell, but for the times, which are the database's.
alter table chat.outbox
  drop column type,
  add column started_at timestamptz not null,
  -- Null where it tells of a run under way.
  add column ended_at timestamptz,
  -- JSON.
  add column data text not null;
alter table chat.outbox set (toast_tuple_target = 8160);
alter table chat.outbox force row level security;
