-- When the groups of a person were read last. A token that leaves them out says nothing about the person, and those that
-- are known count for a bounded time.
alter table tenant.logins add column groups_read_at timestamptz not null default now();
grant update (groups_read_at) on tenant.logins to tenant_system;
