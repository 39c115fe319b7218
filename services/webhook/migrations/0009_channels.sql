-- Messaging channels: what people write to agents, and what the agents answer.

create table webhook.channel_instances (
  id uuid constraint channel_instances_pkey primary key,
  tenant_id uuid not null,
  type text not null,
  name text not null,
  agent_id uuid not null,
  enabled boolean not null,
  history_tokens integer not null,
  replies json not null,
  config json not null,
  -- Encrypted JSON.
  credentials bytea not null,
  -- Of an enabled channel.
  status text not null constraint channel_instances_status_check
    check (status in ('pending', 'connected', 'needs_reauth', 'error')),
  status_reason text,
  -- The provider wants nothing to be sent before this time.
  paused_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Hidden at once, and removed with its messages in batches.
  deleted_at timestamptz
);
create index channel_instances_tenant_id_idx on webhook.channel_instances (tenant_id, id);
create index channel_instances_deleted_at_idx on webhook.channel_instances (deleted_at) where deleted_at is not null;

create table webhook.conversations (
  id uuid constraint conversations_pkey primary key,
  tenant_id uuid not null,
  instance_id uuid not null
    constraint conversations_instance_id_fkey references webhook.channel_instances on delete cascade,
  -- The provider's.
  external_id text not null,
  is_group boolean not null,
  -- The acting user; null in a group.
  user_id text,
  -- When it was last said that a limit is reached.
  refused_at timestamptz,
  last_message_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  constraint conversations_external_id_key unique (instance_id, external_id)
);
create index conversations_instance_id_idx on webhook.conversations (instance_id, id);
-- Finds those in which nothing has happened for long.
create index conversations_last_message_at_idx on webhook.conversations (last_message_at);
create index conversations_user_id_idx on webhook.conversations (tenant_id, user_id);

-- A turn that is not answered yet: one at a time in a conversation. Its id is that of the call of chat.
create table webhook.channel_turns (
  id uuid constraint channel_turns_pkey primary key,
  tenant_id uuid not null,
  conversation_id uuid not null
    constraint channel_turns_conversation_id_fkey references webhook.conversations on delete cascade,
  -- Whom the agent acts for, also in a group.
  user_id text not null,
  agent_id uuid not null,
  -- Encrypted: what the agent is asked, the same at each attempt. Null if nothing in the messages can be read.
  request bytea,
  -- Whether a message has an attachment, which can't be read.
  has_attachment boolean not null,
  created_at timestamptz not null default now(),
  constraint channel_turns_conversation_id_key unique (conversation_id)
);

create table webhook.channel_messages (
  id uuid constraint channel_messages_pkey primary key,
  tenant_id uuid not null,
  instance_id uuid not null
    constraint channel_messages_instance_id_fkey references webhook.channel_instances on delete cascade,
  conversation_id uuid not null
    constraint channel_messages_conversation_id_fkey references webhook.conversations on delete cascade,
  direction text not null constraint channel_messages_direction_check check (direction in ('in', 'out')),
  -- The provider's; null for what is not sent yet.
  external_id text,
  -- Encrypted; null for a message in that has no text.
  text bytea,
  -- Its length in bytes, before encryption.
  text_bytes integer not null,
  has_attachment boolean not null default false,
  -- Of a message in: the acting user and the name of the sender.
  user_id text,
  sender_name text,
  status text not null constraint channel_messages_status_check
    check (status in ('received', 'answered', 'queued', 'sent', 'failed')),
  -- The turn that it is a part of.
  turn_id uuid,
  run_id uuid,
  -- Of a message in: the provider's order.
  position numeric,
  -- Of a reply: how often sending failed, and when it is due.
  attempts integer not null default 0,
  due_at timestamptz,
  -- In the order in which they were stored.
  sequence bigint generated always as identity,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index channel_messages_conversation_id_idx on webhook.channel_messages (conversation_id, sequence);
create index channel_messages_received_idx on webhook.channel_messages (conversation_id, sequence)
  where status = 'received';
create index channel_messages_queued_idx on webhook.channel_messages (conversation_id, sequence)
  where status = 'queued';
create index channel_messages_waiting_idx on webhook.channel_messages (tenant_id) where status = 'received';
create index channel_messages_due_at_idx on webhook.channel_messages (due_at) where status in ('received', 'queued');
create index channel_messages_turn_id_idx on webhook.channel_messages (turn_id);
create index channel_messages_unfinished_idx on webhook.channel_messages (instance_id)
  where status in ('received', 'queued');
create index channel_messages_instance_id_idx on webhook.channel_messages (instance_id);
create index channel_messages_user_id_idx on webhook.channel_messages (tenant_id, user_id);
create index channel_messages_expires_at_idx on webhook.channel_messages (expires_at);

-- By what a duplicate of a message is known: the ids that the provider gives its events and messages.
create table webhook.channel_message_keys (
  instance_id uuid not null
    constraint channel_message_keys_instance_id_fkey references webhook.channel_instances on delete cascade,
  key text not null,
  tenant_id uuid not null,
  message_id uuid not null
    constraint channel_message_keys_message_id_fkey references webhook.channel_messages on delete cascade,
  constraint channel_message_keys_pkey primary key (instance_id, key)
);
create index channel_message_keys_message_id_idx on webhook.channel_message_keys (message_id);

alter table webhook.channel_instances enable row level security;
alter table webhook.channel_instances force row level security;
alter table webhook.conversations enable row level security;
alter table webhook.conversations force row level security;
alter table webhook.channel_turns enable row level security;
alter table webhook.channel_turns force row level security;
alter table webhook.channel_messages enable row level security;
alter table webhook.channel_messages force row level security;
alter table webhook.channel_message_keys enable row level security;
alter table webhook.channel_message_keys force row level security;

create policy channel_instances_app_select on webhook.channel_instances for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy channel_instances_app_insert on webhook.channel_instances for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy channel_instances_app_update on webhook.channel_instances for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
-- A message names its channel, and with it the tenant.
create policy channel_instances_system_select on webhook.channel_instances for select to webhook_system using (true);
create policy channel_instances_system_delete on webhook.channel_instances for delete to webhook_system
  using (deleted_at is not null);

create policy conversations_app_select on webhook.conversations for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy conversations_app_insert on webhook.conversations for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy conversations_app_update on webhook.conversations for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy conversations_app_delete on webhook.conversations for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
-- To delete those without messages.
create policy conversations_system_select on webhook.conversations for select to webhook_system using (true);
create policy conversations_system_delete on webhook.conversations for delete to webhook_system using (true);

create policy channel_turns_app_select on webhook.channel_turns for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy channel_turns_app_insert on webhook.channel_turns for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy channel_turns_app_delete on webhook.channel_turns for delete to webhook_app
  using (tenant_id = webhook.current_tenant());

create policy channel_messages_app_select on webhook.channel_messages for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy channel_messages_app_insert on webhook.channel_messages for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy channel_messages_app_update on webhook.channel_messages for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy channel_messages_app_delete on webhook.channel_messages for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
-- What is overdue, and what is old, of all tenants.
create policy channel_messages_system_select on webhook.channel_messages for select to webhook_system using (true);
create policy channel_messages_system_delete on webhook.channel_messages for delete to webhook_system
  using (expires_at <= now() or exists (
    select from webhook.channel_instances as i where i.id = instance_id and i.deleted_at is not null));

create policy channel_message_keys_app_select on webhook.channel_message_keys for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy channel_message_keys_app_insert on webhook.channel_message_keys for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());

grant select, insert on webhook.channel_instances to webhook_app;
grant update (name, agent_id, enabled, history_tokens, replies, config, credentials, status, status_reason,
  paused_until, updated_at, deleted_at) on webhook.channel_instances to webhook_app;
grant select, delete on webhook.channel_instances to webhook_system;
grant select, insert, delete on webhook.conversations to webhook_app;
grant update (refused_at, last_message_at) on webhook.conversations to webhook_app;
grant select, delete on webhook.conversations to webhook_system;
grant select, insert, delete on webhook.channel_turns to webhook_app;
grant select, insert, delete on webhook.channel_messages to webhook_app;
grant update (external_id, status, turn_id, run_id, attempts, due_at) on webhook.channel_messages to webhook_app;
grant select, delete on webhook.channel_messages to webhook_system;
grant select, insert on webhook.channel_message_keys to webhook_app;
