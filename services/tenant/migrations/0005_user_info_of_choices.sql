-- Sealed: claims of the userinfo endpoint, for a person who chooses among several tenants; null once they have chosen.
alter table tenant.logins add column user_info bytea;
grant update (user_info) on tenant.logins to tenant_system;
