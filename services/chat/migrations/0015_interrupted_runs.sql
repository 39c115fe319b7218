-- Runs that were ended with estimated usage because their process was taken for dead. If it was not, its own end of the
-- run replaces the estimate, once. Kept for a day.
create table chat.interrupted_runs (
  id uuid constraint interrupted_runs_pkey primary key,
  tenant_id uuid not null,
  instance_id uuid not null,
  started_at timestamptz not null,
  -- As in open_runs.
  charges text,
  -- The estimate that was charged; null without a price.
  cost_pico bigint,
  interrupted_at timestamptz not null default now()
);
create index interrupted_runs_interrupted_at_idx on chat.interrupted_runs (interrupted_at);

alter table chat.interrupted_runs enable row level security;
alter table chat.interrupted_runs force row level security;
create policy interrupted_runs_system_select on chat.interrupted_runs for select to chat_system using (true);
create policy interrupted_runs_system_insert on chat.interrupted_runs for insert to chat_system with check (true);
create policy interrupted_runs_system_delete on chat.interrupted_runs for delete to chat_system using (true);
grant select, insert, delete on chat.interrupted_runs to chat_system;

-- Whether the event replaces an end that was published before.
alter table chat.outbox add column corrects boolean not null default false;
