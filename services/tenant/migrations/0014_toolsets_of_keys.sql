-- Names of the toolsets that a key may use; null for all that are open to the tenant. Keys made with another one have
-- its values.
alter table tenant.api_keys add column toolsets text[];
-- The name of the settings that the client of a key gets.
alter table tenant.api_keys add column client_settings text;

create trigger api_keys_toolsets_changed after update of toolsets, client_settings on tenant.api_keys
  for each row
  when ((new.toolsets, new.client_settings) is distinct from (old.toolsets, old.client_settings))
  execute function tenant.add_key_change();

-- Role mappings give toolsets and settings to the keys of people.
grant update (toolsets, client_settings) on tenant.api_keys to tenant_app, tenant_system;
-- Admins change keys of their tenant. A session loses the scopes that its key loses.
grant update (name, scopes) on tenant.api_keys to tenant_app;
grant update (scopes) on tenant.sessions to tenant_app;
