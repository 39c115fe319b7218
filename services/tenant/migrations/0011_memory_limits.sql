-- Limits of what agents remember: {documents?, bytes?, entities?}; an absent member means the default. Not a member of
-- `limits`, from which the release before drops what it does not know.
alter table tenant.tenants add column memory_limits jsonb not null default '{}';
grant update (memory_limits) on tenant.tenants to tenant_system;
