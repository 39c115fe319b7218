-- Admins of a tenant change some of its settings.
create policy tenants_app_update on tenant.tenants for update to tenant_app
  using (id = tenant.current_tenant()) with check (id = tenant.current_tenant());
grant update (timezone, previews_enabled, previews_max_chars, user_keys_enabled, user_keys_max, user_keys_max_days,
  updated_at) on tenant.tenants to tenant_app;
