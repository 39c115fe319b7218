-- Events that could not be published and runs in progress that could not be read, with the reason. Kept for 30 days, at
-- most 1,000.
create table chat.outbox_dead_letters (
  id bigint generated always as identity constraint outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table chat.outbox_dead_letters enable row level security;
alter table chat.outbox_dead_letters force row level security;
create policy outbox_dead_letters_system_select on chat.outbox_dead_letters
  for select to chat_system using (true);
create policy outbox_dead_letters_system_insert on chat.outbox_dead_letters
  for insert to chat_system with check (true);
create policy outbox_dead_letters_system_delete on chat.outbox_dead_letters
  for delete to chat_system using (true);
grant select, insert, delete on chat.outbox_dead_letters to chat_system;
