-- Requests of a tenant in its last minute with any, by which the gateway calls a provider about files and batches.
create table chat.minute_counts (
  tenant_id uuid not null,
  kind text not null,
  minute timestamptz not null,
  count integer not null,
  constraint minute_counts_pkey primary key (tenant_id, kind)
) with (fillfactor = 50);

alter table chat.minute_counts enable row level security;
alter table chat.minute_counts force row level security;
create policy minute_counts_system_select on chat.minute_counts for select to chat_system
  using (true);
create policy minute_counts_system_insert on chat.minute_counts for insert to chat_system
  with check (true);
create policy minute_counts_system_update on chat.minute_counts for update to chat_system
  using (true) with check (true);
grant select, insert on chat.minute_counts to chat_system;
grant update (minute, count) on chat.minute_counts to chat_system;
