-- Changes that could not be published, with the reason. Kept for 30 days, at most 1,000.
create table webhook.audit_outbox_dead_letters (
  id bigint generated always as identity constraint audit_outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table webhook.audit_outbox_dead_letters enable row level security;
alter table webhook.audit_outbox_dead_letters force row level security;
create policy audit_outbox_dead_letters_system_select on webhook.audit_outbox_dead_letters
  for select to webhook_system using (true);
create policy audit_outbox_dead_letters_system_insert on webhook.audit_outbox_dead_letters
  for insert to webhook_system with check (true);
create policy audit_outbox_dead_letters_system_delete on webhook.audit_outbox_dead_letters
  for delete to webhook_system using (true);
grant select, insert, delete on webhook.audit_outbox_dead_letters to webhook_system;
