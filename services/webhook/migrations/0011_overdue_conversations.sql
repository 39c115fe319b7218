-- When work on what is overdue in a conversation was last queued; not again before a minute has passed.
alter table webhook.conversations
  add column woken_at timestamptz,
  -- What is private stays apart from a group that the provider gives the same id.
  drop constraint conversations_external_id_key,
  add constraint conversations_external_id_key unique (instance_id, external_id, is_group);
grant update (woken_at) on webhook.conversations to webhook_app;

-- Keys outlive their messages: a provider may repeat one that was deleted.
alter table webhook.channel_message_keys
  drop constraint channel_message_keys_message_id_fkey,
  add column expires_at timestamptz not null default now() + interval '30 days';
drop index webhook.channel_message_keys_message_id_idx;
create index channel_message_keys_expires_at_idx on webhook.channel_message_keys (expires_at);

create policy channel_message_keys_system_select on webhook.channel_message_keys for select to webhook_system
  using (true);
create policy channel_message_keys_system_delete on webhook.channel_message_keys for delete to webhook_system
  using (expires_at <= now() or exists (
    select from webhook.channel_instances as i where i.id = instance_id and i.deleted_at is not null));
grant select, delete on webhook.channel_message_keys to webhook_system;
