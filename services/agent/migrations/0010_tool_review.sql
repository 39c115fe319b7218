-- Definitions of tools that were accepted: a server that changes one is noticed.

alter table agent.mcp_servers
  -- pin: changed definitions wait for a review; follow: they are used.
  add column trust text not null default 'pin'
    constraint mcp_servers_trust_check check (trust in ('pin', 'follow')),
  -- Names and digests of accepted definitions, with the definition where another one is listed.
  add column accepted json not null default '[]';
-- The same for the lists of single users.
alter table agent.mcp_logins add column accepted json not null default '[]';

grant update (trust, accepted) on agent.mcp_servers to agent_app;
grant update (accepted) on agent.mcp_logins to agent_app;
