-- Changes of memories that are not yet published to the audit log.

create table memory.audit_outbox (
  id bigint generated always as identity constraint audit_outbox_pkey primary key,
  partition integer not null,
  tenant_id uuid,
  -- The time of the entry, and of everything that its transaction wrote.
  occurred_at timestamptz not null default now(),
  -- The entry without its time.
  entry json not null
);

alter table memory.audit_outbox enable row level security;
alter table memory.audit_outbox force row level security;

create policy audit_outbox_app_insert on memory.audit_outbox for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy audit_outbox_system_select on memory.audit_outbox for select to memory_system using (true);
create policy audit_outbox_system_delete on memory.audit_outbox for delete to memory_system using (true);

grant insert on memory.audit_outbox to memory_app;
grant select, delete on memory.audit_outbox to memory_system;
-- For reading the oldest entries of a partition, however many entries other partitions have.
create index audit_outbox_partition_idx on memory.audit_outbox (partition, id);
