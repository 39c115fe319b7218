-- The data keys of secrets are wrapped again by the first key of the ring.
-- How a value begins: the version, and the id of the key that has wrapped its data key. Null for none.
create function agent.sealed_by(sealed bytea) returns bytea language sql immutable parallel safe
return case when octet_length(sealed) > 2 then substring(sealed from 1 for 2 + get_byte(sealed, 1)) end;

-- Few keys have values: an index has one entry for each list of them.
create index cookies_value_sealed_by_idx on agent.cookies (agent.sealed_by(value));
create index mcp_servers_secrets_sealed_by_idx on agent.mcp_servers (agent.sealed_by(secrets)) where secrets is not null;
create index mcp_logins_secrets_sealed_by_idx on agent.mcp_logins (agent.sealed_by(secrets));
