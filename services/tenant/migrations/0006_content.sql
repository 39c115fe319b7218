-- Whether the content of runs is stored: messages, calls of tools, passages and parameters. Counts with previews alone.
alter table tenant.tenants add column content_full boolean not null default false;
grant update (content_full) on tenant.tenants to tenant_app;
grant update (content_full) on tenant.tenants to tenant_system;
