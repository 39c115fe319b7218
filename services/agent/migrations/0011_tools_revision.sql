-- Texts of tools are kept in memory by this revision of what they are made from. A trigger sets it, because replicas of
-- the release before change lists too. Null for rows that have not changed since this migration.

alter table agent.mcp_servers add column tools_revision uuid;
alter table agent.mcp_logins add column tools_revision uuid;

create function agent.set_tools_revision() returns trigger language plpgsql as $$
begin
  new.tools_revision := gen_random_uuid();
  return new;
end
$$;
revoke execute on function agent.set_tools_revision() from public;
grant execute on function agent.set_tools_revision() to agent_app;

create trigger mcp_servers_new_tools_revision before insert on agent.mcp_servers
  for each row execute function agent.set_tools_revision();
-- A list that is the same as before needs no other texts.
create trigger mcp_servers_tools_revision before update of tools, accepted, tool_filter on agent.mcp_servers
  for each row when (old.tools::text is distinct from new.tools::text
    or old.accepted::text is distinct from new.accepted::text
    or old.tool_filter::text is distinct from new.tool_filter::text)
  execute function agent.set_tools_revision();
create trigger mcp_logins_new_tools_revision before insert on agent.mcp_logins
  for each row execute function agent.set_tools_revision();
create trigger mcp_logins_tools_revision before update of tools, accepted on agent.mcp_logins
  for each row when (old.tools::text is distinct from new.tools::text
    or old.accepted::text is distinct from new.accepted::text)
  execute function agent.set_tools_revision();
