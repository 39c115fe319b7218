-- The conversation of a channel that answers are also sent to, as the API shows it: channel_instance_id, conversation. The
-- channel may be gone, or be of another tenant since a transfer.
alter table webhook.endpoints add column deliver_to json;
grant update (deliver_to) on webhook.endpoints to webhook_app;

alter table webhook.calls
  -- Copied from the endpoint when the call is stored.
  add column deliver_to json,
  -- `pending` until the answer is stored as messages of the conversation, which have the id of the call as their turn;
  -- then `queued` until they are sent. Null without deliver_to.
  add column channel_delivery text,
  -- Validated by 0005: here it would read all calls while they can be neither read nor written.
  add constraint calls_channel_delivery_check check (channel_delivery in ('pending', 'queued', 'delivered',
    'no_channel', 'no_text', 'conversation_full', 'not_stored')) not valid;
grant update (channel_delivery) on webhook.calls to webhook_app;

-- A conversation that began with an answer gets its user with their first message.
grant update (user_id) on webhook.conversations to webhook_app;
