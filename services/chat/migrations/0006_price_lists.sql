-- The last good list of prices behind each URL of a catalogue, for replicas that can't fetch it.
create table chat.price_lists (
  -- SHA-256 of the URL, which may have a secret in its query.
  source bytea constraint price_lists_pkey primary key,
  -- The signature, which is empty without a key for it, a line feed and the list.
  list text not null,
  kept_at timestamptz not null default now()
);

alter table chat.price_lists enable row level security;
alter table chat.price_lists force row level security;
create policy price_lists_system_select on chat.price_lists for select to chat_system using (true);
create policy price_lists_system_insert on chat.price_lists for insert to chat_system with check (true);
create policy price_lists_system_update on chat.price_lists for update to chat_system using (true) with check (true);
create policy price_lists_system_delete on chat.price_lists for delete to chat_system using (true);
grant select, insert, update, delete on chat.price_lists to chat_system;
