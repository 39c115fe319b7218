-- Deletions of the data of users that tenant has requested. A row is due until the data are removed and the receipt is sent.
create table webhook.user_deletions (
  deletion_id uuid constraint user_deletions_pkey primary key,
  tenant_id uuid not null,
  -- Null once the data are removed.
  user_id text,
  -- Milliseconds since the epoch: data of the user from before that time are removed.
  requested_at_ms bigint not null,
  -- Numbers of removed rows, by kind.
  counts jsonb not null,
  -- The time of the next step, or of the next attempt to send the receipt; null once it is sent.
  due_at timestamptz,
  -- Rows are deleted 30 days later.
  received_at timestamptz not null default now()
);
-- Statistics would keep user ids after they are deleted.
alter table webhook.user_deletions alter column user_id set statistics 0;
create index user_deletions_due_at_idx on webhook.user_deletions (due_at) where due_at is not null;
create index user_deletions_received_at_idx on webhook.user_deletions (received_at);

alter table webhook.user_deletions enable row level security;
alter table webhook.user_deletions force row level security;
create policy user_deletions_system_select on webhook.user_deletions for select to webhook_system using (true);
create policy user_deletions_system_insert on webhook.user_deletions for insert to webhook_system with check (true);
create policy user_deletions_system_update on webhook.user_deletions for update to webhook_system
  using (true) with check (true);
create policy user_deletions_system_delete on webhook.user_deletions for delete to webhook_system using (true);
grant select, insert, update, delete on webhook.user_deletions to webhook_system;
