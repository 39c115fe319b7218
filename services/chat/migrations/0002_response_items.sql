-- Items of kept responses by their ids, so that a request may name one in place of sending it.
create table chat.response_items (
  response_id uuid not null
    constraint response_items_response_id_fkey references chat.responses on delete cascade,
  tenant_id uuid not null,
  -- 64 bits of a hash of the user and of the item's id.
  item_key bigint not null,
  constraint response_items_pkey primary key (response_id, item_key)
);
-- The newest response that has an item comes first: ids of responses ascend with time.
create index response_items_item_key_idx on chat.response_items (tenant_id, item_key, response_id);

alter table chat.response_items enable row level security;
alter table chat.response_items force row level security;
create policy response_items_system_select on chat.response_items for select to chat_system using (true);
create policy response_items_system_insert on chat.response_items for insert to chat_system with check (true);
grant select, insert on chat.response_items to chat_system;
