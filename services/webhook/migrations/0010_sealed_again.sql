-- The data keys of secrets, calls, turns and messages are wrapped again by the first key of the ring.
grant update (request) on webhook.channel_turns to webhook_app;
grant update (text) on webhook.channel_messages to webhook_app;
create policy channel_turns_system_select on webhook.channel_turns for select to webhook_system using (true);

-- How a value begins: the version, and the id of the key that has wrapped its data key. Null for none.
create function webhook.sealed_by(sealed bytea) returns bytea language sql immutable parallel safe
return case when octet_length(sealed) > 2 then substring(sealed from 1 for 2 + get_byte(sealed, 1)) end;

-- Few keys have values: an index has one entry for each list of them.
create index endpoints_secret_sealed_by_idx on webhook.endpoints (webhook.sealed_by(secret));
create index endpoints_previous_secret_sealed_by_idx on webhook.endpoints (webhook.sealed_by(previous_secret)) where previous_secret is not null;
create index endpoints_callback_secret_sealed_by_idx on webhook.endpoints (webhook.sealed_by(callback_secret));
create index endpoints_previous_callback_secret_sealed_by_idx on webhook.endpoints (webhook.sealed_by(previous_callback_secret)) where previous_callback_secret is not null;
create index subscriptions_secret_sealed_by_idx on webhook.subscriptions (webhook.sealed_by(secret));
create index subscriptions_previous_secret_sealed_by_idx on webhook.subscriptions (webhook.sealed_by(previous_secret)) where previous_secret is not null;
create index channel_instances_credentials_sealed_by_idx on webhook.channel_instances (webhook.sealed_by(credentials));
create index channel_instances_previous_credentials_sealed_by_idx on webhook.channel_instances (webhook.sealed_by(previous_credentials)) where previous_credentials is not null;
create index channel_instances_access_token_sealed_by_idx on webhook.channel_instances (webhook.sealed_by(access_token)) where access_token is not null;
create index channel_instances_refresh_token_sealed_by_idx on webhook.channel_instances (webhook.sealed_by(refresh_token)) where refresh_token is not null;
create index calls_request_sealed_by_idx on webhook.calls (webhook.sealed_by(request)) where request is not null;
create index calls_result_sealed_by_idx on webhook.calls (webhook.sealed_by(result)) where result is not null;
create index channel_turns_request_sealed_by_idx on webhook.channel_turns (webhook.sealed_by(request)) where request is not null;
create index channel_messages_text_sealed_by_idx on webhook.channel_messages (webhook.sealed_by(text)) where text is not null;
