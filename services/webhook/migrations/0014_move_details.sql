-- What moves without its agent, because the target has one with the same key, uses that one.
grant update (agent_id) on webhook.calls, webhook.channel_turns to webhook_app;
create policy channel_turns_app_update on webhook.channel_turns for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
-- A secret that is no longer accepted is forgotten instead of encrypted for the target.
grant update (previous_secret_expires_at) on webhook.endpoints to webhook_system;
