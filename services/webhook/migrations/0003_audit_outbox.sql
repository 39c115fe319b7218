-- Changes of webhook endpoints that are not yet published to the audit log.

create table webhook.audit_outbox (
  id bigint generated always as identity constraint audit_outbox_pkey primary key,
  partition integer not null,
  tenant_id uuid,
  -- The time of the entry, and of everything that its transaction wrote.
  occurred_at timestamptz not null default now(),
  -- The entry without its time.
  entry json not null
);

alter table webhook.audit_outbox enable row level security;
alter table webhook.audit_outbox force row level security;

create policy audit_outbox_app_insert on webhook.audit_outbox for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy audit_outbox_system_select on webhook.audit_outbox for select to webhook_system using (true);
create policy audit_outbox_system_delete on webhook.audit_outbox for delete to webhook_system using (true);

grant insert on webhook.audit_outbox to webhook_app;
grant select, delete on webhook.audit_outbox to webhook_system;
-- For reading the oldest entries of a partition, however many entries other partitions have.
create index audit_outbox_partition_idx on webhook.audit_outbox (partition, id);
