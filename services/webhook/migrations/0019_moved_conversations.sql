-- A group may get another id at its provider. Its conversation goes on under the new one, and a row is left under the old
-- id, for messages that arrive late.
alter table webhook.conversations
  -- The conversation that this one goes on in.
  add column moved_to uuid
    constraint conversations_moved_to_fkey references webhook.conversations on delete cascade;
grant update (external_id, moved_to) on webhook.conversations to webhook_app;
grant update (conversation_id) on webhook.channel_messages to webhook_app;
