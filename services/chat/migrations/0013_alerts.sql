-- Alerts for subscribers that are not yet published to webhook.
create table chat.alert_outbox (
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
create index alert_outbox_partition_idx on chat.alert_outbox (partition, id);

-- Alerts that could not be published, with the reason. Kept for 30 days, at most 1,000.
create table chat.alert_outbox_dead_letters (
  id bigint generated always as identity constraint alert_outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table chat.alert_outbox enable row level security;
alter table chat.alert_outbox force row level security;
alter table chat.alert_outbox_dead_letters enable row level security;
alter table chat.alert_outbox_dead_letters force row level security;

create policy alert_outbox_system_select on chat.alert_outbox for select to chat_system using (true);
create policy alert_outbox_system_insert on chat.alert_outbox for insert to chat_system with check (true);
create policy alert_outbox_system_delete on chat.alert_outbox for delete to chat_system using (true);
create policy alert_outbox_dead_letters_system_select on chat.alert_outbox_dead_letters
  for select to chat_system using (true);
create policy alert_outbox_dead_letters_system_insert on chat.alert_outbox_dead_letters
  for insert to chat_system with check (true);
create policy alert_outbox_dead_letters_system_delete on chat.alert_outbox_dead_letters
  for delete to chat_system using (true);

grant select, insert, delete on chat.alert_outbox to chat_system;
grant select, insert, delete on chat.alert_outbox_dead_letters to chat_system;
