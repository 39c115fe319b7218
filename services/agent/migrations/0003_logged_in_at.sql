-- The time of the consent. The row is as old as the link to it. Null for a login that an older release stored.
alter table agent.mcp_logins add column logged_in_at timestamptz;
grant update (logged_in_at) on agent.mcp_logins to agent_app;
