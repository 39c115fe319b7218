-- Keys with all scopes of their role get a new one of the role. The owner of the table is held to its policies, of which
-- it has none; neither for the changes of which a trigger informs the other services.
alter table tenant.api_keys no force row level security;
alter table tenant.changes no force row level security;
update tenant.api_keys set scopes = array_append(scopes, 'runs.write')
where not 'runs.write' = any (scopes) and revoked_at is null
  and (role = 'user' and scopes @> array['chat', 'agents.read', 'memory.read', 'memory.write', 'analytics.read', 'cookies.write']
    or role = 'admin' and scopes @> array['chat', 'agents.read', 'agents.write', 'memory.read', 'memory.write',
      'analytics.read', 'cookies.write', 'channels.read', 'channels.write', 'mcp.write', 'webhooks.write', 'keys.write',
      'transfers.write']);
alter table tenant.api_keys force row level security;
alter table tenant.changes force row level security;
