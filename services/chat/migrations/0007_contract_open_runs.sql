-- Chat stores only runs in progress and unpublished events; analytics stores the rest. A run is one row, including its
-- calls, while it lasts. Its end deletes the row and writes its event, in one statement.

-- Blocks writes until this migration commits, so that nothing is lost.
lock table chat.runs, chat.attempts, chat.outbox in access exclusive mode;
-- No policy gives the owner access to rows, so the tables would seem empty.
alter table chat.runs no force row level security;
alter table chat.outbox no force row level security;
do $$
begin
  if exists (select from chat.outbox) or exists (select from chat.runs where status = 'started') then
    raise exception 'runs are in progress or not yet published: stop all traffic, keep the previous release of chat running until gatehouse_runs_open and gatehouse_outbox_entries are 0, then run the migration step again';
  end if;
end
$$;

-- One accepted client request that has not ended. Committed before the first byte is sent to a provider.
create table chat.open_runs (
  id uuid constraint open_runs_pkey primary key,
  tenant_id uuid not null,
  instance_id uuid not null,
  started_at timestamptz not null default now(),
  -- The budgets in which it was reserved, as JSON: [{subjectId, windowStart}]; null if none.
  charges text,
  -- JSON: the data of the start event without its time. Text instead of json, because only chat reads it.
  run text not null,
  -- JSON: its provider calls in order, the last one without an end. Replaced as a whole by each call.
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

-- Entries contain the data of the event, without the times, which are from the database.
alter table chat.outbox
  drop column type,
  add column started_at timestamptz not null,
  -- Null for a start event.
  add column ended_at timestamptz,
  -- JSON.
  add column data text not null;
alter table chat.outbox set (toast_tuple_target = 8160);
alter table chat.outbox force row level security;
