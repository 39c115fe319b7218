-- The owner's list of keys reads them by role, newest first, of a tenant or of all (it shows user keys only when asked).

create index api_keys_role_idx on tenant.api_keys (role, id);
create index api_keys_tenant_role_idx on tenant.api_keys (tenant_id, role, id);
