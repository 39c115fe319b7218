-- Subscriptions of tenants and of the owner to events, and what is sent to them. Rows of the owner have the nil UUID as
-- their tenant.

create table webhook.subscriptions (
  id uuid constraint subscriptions_pkey primary key,
  tenant_id uuid not null,
  url text not null,
  event_types text[] not null,
  enabled boolean not null,
  -- Encrypted: signs events.
  secret bytea not null,
  -- Since when every attempt has failed; null after a success.
  failing_since timestamptz,
  last_delivery_at timestamptz,
  last_delivery_status text constraint subscriptions_last_delivery_status_check
    check (last_delivery_status in ('pending', 'delivered', 'failed')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index subscriptions_tenant_id_idx on webhook.subscriptions (tenant_id, id);

-- Events that have subscribers.
create table webhook.events (
  -- The id that the event was raised with.
  id uuid constraint events_pkey primary key,
  tenant_id uuid not null,
  type text not null,
  -- What is sent, the same at each attempt.
  body text not null,
  created_at timestamptz not null default now()
);
create index events_created_at_idx on webhook.events (created_at);

-- When an event was last sent of those that are sent once in a while at most.
create table webhook.event_marks (
  tenant_id uuid not null,
  -- The type of the event, and what it is about.
  subject text not null,
  at timestamptz not null,
  constraint event_marks_pkey primary key (tenant_id, subject)
);
create index event_marks_at_idx on webhook.event_marks (at);

-- A delivery is the result of a call, signed by its endpoint, or an event, signed by its subscription.
alter table webhook.deliveries
  alter column call_id drop not null,
  alter column endpoint_id drop not null,
  add column event_id uuid constraint deliveries_event_id_fkey references webhook.events on delete cascade,
  add column subscription_id uuid
    constraint deliveries_subscription_id_fkey references webhook.subscriptions on delete cascade,
  add constraint deliveries_source_check check (
    num_nulls(call_id, endpoint_id) = 2 and num_nulls(event_id, subscription_id) = 0
    or num_nulls(call_id, endpoint_id) = 0 and num_nulls(event_id, subscription_id) = 2);
create index deliveries_event_id_idx on webhook.deliveries (event_id);
create index deliveries_subscription_id_idx on webhook.deliveries (subscription_id) where status = 'pending';

-- Events that could not be read or stored, with the reason.
create table webhook.dead_letters (
  id uuid constraint dead_letters_pkey primary key,
  received_at timestamptz not null default now(),
  -- The topic, partition and offset; or the sending service.
  origin text not null,
  reason text not null,
  payload bytea not null
);

alter table webhook.subscriptions enable row level security;
alter table webhook.subscriptions force row level security;
alter table webhook.events enable row level security;
alter table webhook.events force row level security;
alter table webhook.event_marks enable row level security;
alter table webhook.event_marks force row level security;
alter table webhook.dead_letters enable row level security;
alter table webhook.dead_letters force row level security;

create policy subscriptions_app_select on webhook.subscriptions for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy subscriptions_app_insert on webhook.subscriptions for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy subscriptions_app_update on webhook.subscriptions for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy subscriptions_app_delete on webhook.subscriptions for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy events_app_select on webhook.events for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy events_app_insert on webhook.events for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy event_marks_app_select on webhook.event_marks for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy event_marks_app_insert on webhook.event_marks for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy event_marks_app_update on webhook.event_marks for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());

-- Subscriptions of all tenants are read to find secrets under an old key. All else here are the owner's own rows.
create policy subscriptions_system_select on webhook.subscriptions for select to webhook_system using (true);
create policy subscriptions_system_insert on webhook.subscriptions for insert to webhook_system
  with check (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy subscriptions_system_update on webhook.subscriptions for update to webhook_system
  using (tenant_id = '00000000-0000-0000-0000-000000000000')
  with check (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy subscriptions_system_delete on webhook.subscriptions for delete to webhook_system
  using (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy deliveries_system_select on webhook.deliveries for select to webhook_system
  using (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy deliveries_system_insert on webhook.deliveries for insert to webhook_system
  with check (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy deliveries_system_update on webhook.deliveries for update to webhook_system
  using (tenant_id = '00000000-0000-0000-0000-000000000000')
  with check (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy delivery_attempts_system_select on webhook.delivery_attempts for select to webhook_system
  using (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy events_system_insert on webhook.events for insert to webhook_system
  with check (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy audit_outbox_system_insert on webhook.audit_outbox for insert to webhook_system
  with check (tenant_id is null);

-- What is old, of all tenants.
create policy events_system_select on webhook.events for select to webhook_system using (true);
create policy events_system_delete on webhook.events for delete to webhook_system
  using (created_at < now() - interval '30 days');
create policy event_marks_system_select on webhook.event_marks for select to webhook_system using (true);
create policy event_marks_system_delete on webhook.event_marks for delete to webhook_system
  using (at < now() - interval '2 days');
create policy dead_letters_system_select on webhook.dead_letters for select to webhook_system using (true);
create policy dead_letters_system_insert on webhook.dead_letters for insert to webhook_system with check (true);
create policy dead_letters_system_delete on webhook.dead_letters for delete to webhook_system
  using (received_at < now() - interval '30 days');

grant select, insert, delete on webhook.subscriptions to webhook_app, webhook_system;
grant update (url, event_types, enabled, failing_since, updated_at) on webhook.subscriptions
  to webhook_app, webhook_system;
grant update (last_delivery_at, last_delivery_status, secret) on webhook.subscriptions to webhook_app;
grant update (callback_secret) on webhook.endpoints to webhook_app;
grant select, insert on webhook.events to webhook_app;
grant select, insert, delete on webhook.events to webhook_system;
grant select, insert on webhook.event_marks to webhook_app;
grant update (at) on webhook.event_marks to webhook_app;
grant select, delete on webhook.event_marks to webhook_system;
grant select, insert on webhook.deliveries to webhook_system;
grant update (url, target, status, due_at, claimed_until, finished_at) on webhook.deliveries to webhook_system;
grant update (url, target) on webhook.deliveries to webhook_app;
grant select on webhook.delivery_attempts to webhook_system;
grant insert on webhook.audit_outbox to webhook_system;
grant select, insert, delete on webhook.dead_letters to webhook_system;
