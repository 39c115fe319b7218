-- PostgreSQL lacks this name, which earlier releases took: statements that calculate the tenant's windows failed. It is
-- another name of the same zone. The owner of the table may be no superuser, and sees no rows otherwise.
alter table tenant.tenants no force row level security;
update tenant.tenants set timezone = 'America/Los_Angeles' where lower(timezone) = 'us/pacific-new';
alter table tenant.tenants force row level security;
