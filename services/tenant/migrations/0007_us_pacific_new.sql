-- Earlier releases accepted this name, which PostgreSQL lacks, so statements that calculate the windows of the tenant
-- failed. It is an alias of the same zone. Forced row-level security would hide all rows from an owner without
-- superuser rights.
alter table tenant.tenants no force row level security;
update tenant.tenants set timezone = 'America/Los_Angeles' where lower(timezone) = 'us/pacific-new';
alter table tenant.tenants force row level security;
