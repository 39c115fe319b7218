-- What is sent to URLs of tenants: results of calls.

create table webhook.deliveries (
  id uuid constraint deliveries_pkey primary key,
  tenant_id uuid not null,
  call_id uuid not null constraint deliveries_call_id_fkey references webhook.calls on delete cascade,
  -- The endpoint whose secret signs it.
  endpoint_id uuid not null constraint deliveries_endpoint_id_fkey references webhook.endpoints on delete cascade,
  url text not null,
  -- A digest of the origin of the URL: deliveries with the same target wait for each other.
  target text not null,
  status text not null constraint deliveries_status_check check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  -- When the next attempt is due; null once there is none.
  due_at timestamptz,
  -- A replica sends it until this time; afterwards any may.
  claimed_until timestamptz,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint deliveries_due_at_check check ((due_at is null) = (status <> 'pending'))
);
create index deliveries_target_idx on webhook.deliveries (tenant_id, target, due_at) where status = 'pending';
create index deliveries_call_id_idx on webhook.deliveries (call_id, id);
create index deliveries_endpoint_id_idx on webhook.deliveries (endpoint_id);

create table webhook.delivery_attempts (
  delivery_id uuid not null constraint delivery_attempts_delivery_id_fkey
    references webhook.deliveries on delete cascade,
  number integer not null,
  tenant_id uuid not null,
  at timestamptz not null,
  duration_ms integer not null,
  -- Of the response; null without one.
  status integer,
  -- Why there was no response.
  error text,
  constraint delivery_attempts_pkey primary key (delivery_id, number)
);

-- Since when every attempt for the callback URL of an endpoint has failed; null after a success.
alter table webhook.endpoints add column failing_since timestamptz;

alter table webhook.deliveries enable row level security;
alter table webhook.deliveries force row level security;
alter table webhook.delivery_attempts enable row level security;
alter table webhook.delivery_attempts force row level security;

create policy deliveries_app_select on webhook.deliveries for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy deliveries_app_insert on webhook.deliveries for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy deliveries_app_update on webhook.deliveries for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy delivery_attempts_app_select on webhook.delivery_attempts for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy delivery_attempts_app_insert on webhook.delivery_attempts for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());

grant select, insert on webhook.deliveries to webhook_app;
grant update (status, attempts, due_at, claimed_until, finished_at) on webhook.deliveries to webhook_app;
grant select, insert on webhook.delivery_attempts to webhook_app;
grant update (failing_since) on webhook.endpoints to webhook_app;

-- Calls of a user whose data are deleted.
create index calls_user_id_idx on webhook.calls (tenant_id, user_id) where user_id is not null;
create policy calls_app_delete on webhook.calls for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
grant delete on webhook.calls to webhook_app;
