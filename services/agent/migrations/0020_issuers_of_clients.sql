-- A client of the tenant, and its secret, belong to the authorization server that the MCP server names first.
alter table agent.mcp_servers
  -- The issuer of the client in auth (RFC 8414); null until it is found, and for other ways to authenticate.
  add column client_issuer text,
  -- Another issuer that the server named later. Nothing is authenticated until an admin sends auth again.
  add column other_issuer text;
grant update (client_issuer, other_issuer) on agent.mcp_servers to agent_app;
