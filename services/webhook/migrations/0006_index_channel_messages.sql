-- Finds messages older than the current retention of their tenant. `expires_at` is by the retention at the time of
-- writing, by which replicas of 0.3.0 delete them.
create index channel_messages_created_at_idx on webhook.channel_messages (tenant_id, created_at);
