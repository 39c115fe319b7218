-- Admins of a tenant read the changes in it.
create policy audit_log_app_select on tenant.audit_log for select to tenant_app
  using (tenant_id = tenant.current_tenant());
grant select on tenant.audit_log to tenant_app;
