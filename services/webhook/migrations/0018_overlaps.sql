-- A secret that was replaced is used beside the new one for a time: what is sent is signed by both.
alter table webhook.endpoints
  -- Encrypted, in the place of the callback secret.
  add column previous_callback_secret bytea,
  add column previous_callback_secret_expires_at timestamptz,
  add constraint endpoints_previous_callback_secret_check
    check ((previous_callback_secret is null) = (previous_callback_secret_expires_at is null));
alter table webhook.subscriptions
  -- Encrypted, in the place of the secret.
  add column previous_secret bytea,
  add column previous_secret_expires_at timestamptz,
  add constraint subscriptions_previous_secret_check
    check ((previous_secret is null) = (previous_secret_expires_at is null));
alter table webhook.channel_instances
  -- Encrypted, in the place of the credentials.
  add column previous_credentials bytea,
  add column previous_credentials_expire_at timestamptz,
  -- Until then they prove messages too; null if they only sign replies.
  add column previous_credentials_accepted_until timestamptz,
  add constraint channel_instances_previous_credentials_check
    check ((previous_credentials is null) = (previous_credentials_expire_at is null)
      and (previous_credentials_accepted_until is null or previous_credentials_accepted_until <= previous_credentials_expire_at));

-- Finds what is to be forgotten.
create index endpoints_previous_secret_expires_at_idx on webhook.endpoints (previous_secret_expires_at)
  where previous_secret_expires_at is not null;
create index endpoints_previous_callback_secret_expires_at_idx
  on webhook.endpoints (previous_callback_secret_expires_at) where previous_callback_secret_expires_at is not null;
create index subscriptions_previous_secret_expires_at_idx on webhook.subscriptions (previous_secret_expires_at)
  where previous_secret_expires_at is not null;
create index channel_instances_previous_credentials_expire_at_idx
  on webhook.channel_instances (previous_credentials_expire_at) where previous_credentials_expire_at is not null;

grant update (previous_callback_secret, previous_callback_secret_expires_at) on webhook.endpoints to webhook_app;
grant update (previous_secret, previous_secret_expires_at) on webhook.subscriptions to webhook_app;
grant update (previous_credentials, previous_credentials_expire_at, previous_credentials_accepted_until)
  on webhook.channel_instances to webhook_app;
-- Of a move.
grant update (previous_callback_secret) on webhook.endpoints to webhook_system;
grant update (previous_credentials) on webhook.channel_instances to webhook_system;
-- Of the owner's own subscriptions.
grant update (secret, previous_secret, previous_secret_expires_at) on webhook.subscriptions to webhook_system;
