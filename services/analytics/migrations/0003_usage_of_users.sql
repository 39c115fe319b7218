-- For summaries of one user, such as those that users see: other users' runs are not read.
create index usage_user_id_idx on analytics.usage (tenant_id, user_id, bucket) where user_id is not null;
