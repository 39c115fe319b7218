-- Moves of endpoints and channels between tenants, with what belongs to them.

-- It is about to move: nothing of it is worked on. Messages and `async` calls are stored and wait.
alter table webhook.endpoints add column closed boolean not null default false;
alter table webhook.channel_instances add column closed boolean not null default false;
grant update (closed) on webhook.endpoints, webhook.channel_instances to webhook_app;

-- The tenants of the move that a transaction carries out; null without one.
create function webhook.moving_from() returns uuid language sql stable as $$
  select source_tenant_id from webhook.transfers
  where id = nullif(current_setting('gatehouse.transfer_id', true), '')::uuid and state = 'open'
$$;
create function webhook.moving_to() returns uuid language sql stable as $$
  select target_tenant_id from webhook.transfers
  where id = nullif(current_setting('gatehouse.transfer_id', true), '')::uuid and state = 'open'
$$;
revoke execute on function webhook.moving_from(), webhook.moving_to() from public;
grant execute on function webhook.moving_from(), webhook.moving_to() to webhook_system;

-- The owner of a row changes within an open transfer only, from its source to its target.
do $$
declare
  name text;
begin
  foreach name in array array['endpoints', 'calls', 'deliveries', 'delivery_attempts', 'channel_instances',
    'conversations', 'channel_turns', 'channel_messages'] loop
    execute format('create policy %1$s_system_move on webhook.%1$I for update to webhook_system
      using (tenant_id = (select webhook.moving_from())) with check (tenant_id = (select webhook.moving_to()))', name);
    execute format('grant update (tenant_id) on webhook.%I to webhook_system', name);
  end loop;
  foreach name in array array['delivery_attempts', 'channel_turns'] loop
    execute format('create policy %1$s_system_move_select on webhook.%1$I for select to webhook_system
      using (tenant_id in ((select webhook.moving_from()), (select webhook.moving_to())))', name);
  end loop;
end $$;
-- Prolongs claims of any tenant.
alter policy calls_system_update on webhook.calls using (status = 'running');
grant select on webhook.channel_turns to webhook_system;
grant update (secret, previous_secret, callback_secret, locked_by, closed) on webhook.endpoints to webhook_system;
grant update (credentials, access_token, refresh_token, refresh_claim, refresh_claimed_until, locked_by, closed)
  on webhook.channel_instances to webhook_system;
grant update (request, result) on webhook.calls to webhook_system;
grant update (request) on webhook.channel_turns to webhook_system;
grant update (text) on webhook.channel_messages to webhook_system;

-- In the order in which a move brings them to the target.
create index channel_messages_instance_sequence_idx on webhook.channel_messages (instance_id, sequence);
drop index webhook.channel_messages_instance_id_idx;

-- What is known of repeats, and the rate, belong to the tenant that has the endpoint or the channel. The column
-- of the tenant is unused from this release on.
alter table webhook.call_keys alter column tenant_id drop not null;
alter table webhook.delivery_rates alter column tenant_id drop not null;
alter table webhook.channel_message_keys alter column tenant_id drop not null;
do $$
declare
  own constant text := 'exists (select from webhook.%s as owner where owner.id = %s)';
  endpoint constant text := format(own, 'endpoints', 'endpoint_id');
  channel constant text := format(own, 'channel_instances', 'instance_id');
begin
  execute format('alter policy call_keys_app_select on webhook.call_keys using (%s)', endpoint);
  execute format('alter policy call_keys_app_insert on webhook.call_keys with check (%s)', endpoint);
  execute format('alter policy call_keys_app_update on webhook.call_keys using (%1$s) with check (%1$s)', endpoint);
  execute format('alter policy call_keys_app_delete on webhook.call_keys using (%s)', endpoint);
  execute format('alter policy delivery_rates_app_select on webhook.delivery_rates using (%s)', endpoint);
  execute format('alter policy delivery_rates_app_insert on webhook.delivery_rates with check (%s)', endpoint);
  execute format('alter policy delivery_rates_app_update on webhook.delivery_rates using (%1$s) with check (%1$s)', endpoint);
  execute format('alter policy channel_message_keys_app_select on webhook.channel_message_keys using (%s)', channel);
  execute format('alter policy channel_message_keys_app_insert on webhook.channel_message_keys with check (%s)', channel);
end $$;

-- Users whose data were deleted while a transfer was bringing what they wrote to another tenant: it is deleted there too.
create table webhook.deleted_users (
  tenant_id uuid not null,
  -- SHA-256 of the tenant and the user id: the id itself is deleted too.
  user_hash bytea not null constraint deleted_users_user_hash_check check (octet_length(user_hash) = 32),
  requested_at timestamptz not null,
  noted_at timestamptz not null default now(),
  constraint deleted_users_pkey primary key (tenant_id, user_hash)
);
alter table webhook.deleted_users enable row level security;
alter table webhook.deleted_users force row level security;
create policy deleted_users_app_select on webhook.deleted_users for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy deleted_users_app_insert on webhook.deleted_users for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy deleted_users_app_update on webhook.deleted_users for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy deleted_users_app_delete on webhook.deleted_users for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
grant select, insert, delete on webhook.deleted_users to webhook_app;
grant update (requested_at, noted_at) on webhook.deleted_users to webhook_app;
