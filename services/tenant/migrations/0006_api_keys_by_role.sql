-- For the key list of owners, which reads keys by role, newest first, of one or all tenants (user keys only on
-- request).

create index api_keys_role_idx on tenant.api_keys (role, id);
create index api_keys_tenant_role_idx on tenant.api_keys (tenant_id, role, id);
