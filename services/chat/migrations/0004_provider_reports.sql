-- The state of deployments and keys as each replica sees it, for the operators' view. A replica replaces its row every few
-- seconds, so nothing of it is worth a write to the log: a crash empties the table.
create unlogged table chat.provider_reports (
  instance_id uuid constraint provider_reports_pkey primary key,
  reported_at timestamptz not null default now(),
  -- JSON. Text, because only chat reads it.
  report text not null
);
create index provider_reports_reported_at_idx on chat.provider_reports (reported_at);

alter table chat.provider_reports enable row level security;
alter table chat.provider_reports force row level security;
create policy provider_reports_system_select on chat.provider_reports for select to chat_system using (true);
create policy provider_reports_system_insert on chat.provider_reports for insert to chat_system with check (true);
create policy provider_reports_system_update on chat.provider_reports for update to chat_system using (true) with check (true);
create policy provider_reports_system_delete on chat.provider_reports for delete to chat_system using (true);
grant select, insert, update, delete on chat.provider_reports to chat_system;
