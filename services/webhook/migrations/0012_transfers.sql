-- Transfers of endpoints and channels between tenants.

-- Those that this service has a part in. Kept for 30 days after their end.
create table webhook.transfers (
  id uuid constraint transfers_pkey primary key,
  source_tenant_id uuid not null,
  target_tenant_id uuid not null,
  state text not null default 'open'
    constraint transfers_state_check check (state in ('open', 'committed', 'aborted')),
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create index transfers_ended_at_idx on webhook.transfers (ended_at);
alter table webhook.transfers enable row level security;
alter table webhook.transfers force row level security;
create policy transfers_app_select on webhook.transfers for select to webhook_app
  using (webhook.current_tenant() in (source_tenant_id, target_tenant_id));
create policy transfers_app_insert on webhook.transfers for insert to webhook_app
  with check (webhook.current_tenant() = source_tenant_id);
create policy transfers_app_update on webhook.transfers for update to webhook_app
  using (webhook.current_tenant() = source_tenant_id) with check (webhook.current_tenant() = source_tenant_id);
create policy transfers_system_select on webhook.transfers for select to webhook_system using (true);
create policy transfers_system_delete on webhook.transfers for delete to webhook_system
  using (ended_at < now() - interval '30 days');
grant select, insert on webhook.transfers to webhook_app;
grant update (state, ended_at) on webhook.transfers to webhook_app;
grant select, delete on webhook.transfers to webhook_system;

-- The transfer that keeps it as it is.
alter table webhook.endpoints add column locked_by uuid;
alter table webhook.channel_instances add column locked_by uuid;
grant update (locked_by) on webhook.endpoints, webhook.channel_instances to webhook_app;
