-- For the last deletion that a user has requested.
create index user_deletions_user_idx on tenant.user_deletions (tenant_id, user_hash, requested_at);
