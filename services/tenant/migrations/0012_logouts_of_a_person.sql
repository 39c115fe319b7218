-- A transaction of a tenant sees the logouts of the person whose session it opens, and of no other one: people at issuers
-- belong to no tenant. No release has read the table otherwise.
drop policy issuer_logouts_app_select on tenant.issuer_logouts;
create policy issuer_logouts_app_select on tenant.issuer_logouts for select to tenant_app
  using (iss = current_setting('gatehouse.login_iss', true)
    and (sub = current_setting('gatehouse.login_sub', true) or sid = current_setting('gatehouse.login_sid', true)));
