-- The outbox relay reads the outbox by partition of the tenant and deletes published entries.

-- The last digits of a UUIDv7 are random.
create function chat.partition_of(tenant uuid) returns integer language sql immutable strict as $$
  select (('x' || right(tenant::text, 8))::bit(32)::bigint % 8)::integer
$$;

alter table chat.outbox add column partition integer generated always as (chat.partition_of(tenant_id)) stored;

create policy outbox_system_select on chat.outbox for select to chat_system using (true);
create policy outbox_system_delete on chat.outbox for delete to chat_system using (true);
grant select, delete on chat.outbox to chat_system;
