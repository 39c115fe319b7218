-- Agents of tenants, MCP servers with the tools and logins of their users, cookies, and transfers of all of them.

-- The tenant whose rows a transaction of agent_app may see. Raises an exception if none is set, so that a missing
-- setting causes an error instead of an empty result.
create function agent.current_tenant() returns uuid language plpgsql stable as $$
declare
  current text := current_setting('gatehouse.tenant_id', true);
begin
  -- On a reused connection the value is '' after a transaction-local setting ended; treat it as not set.
  if current is null or current = '' then
    raise exception 'no tenant is set for this transaction' using errcode = 'insufficient_privilege';
  end if;
  return current::uuid;
end
$$;
revoke execute on function agent.current_tenant() from public;
grant execute on function agent.current_tenant() to agent_app;

-- The transfer whose hidden rows a transaction may see.
create function agent.current_transfer() returns uuid language sql stable as $$
  select nullif(current_setting('gatehouse.transfer_id', true), '')::uuid
$$;
revoke execute on function agent.current_transfer() from public;
grant execute on function agent.current_transfer() to agent_app;
grant usage on schema agent to agent_app, agent_system;
grant select on agent.migrations to agent_app, agent_system;

-- How a value begins: the version, and the id of the key that has wrapped its data key. Null for none.
create function agent.sealed_by(sealed bytea) returns bytea language sql immutable parallel safe
return case when octet_length(sealed) > 2 then substring(sealed from 1 for 2 + get_byte(substring(sealed from 2 for 1), 0)) end;

--
-- Agents, and cookies for them.
--

-- Models with a prompt, parameters and tools, which requests name by their key.
create table agent.agents (
  id uuid constraint agents_pkey primary key,
  tenant_id uuid not null,
  key text not null,
  name text not null,
  description text not null,
  model text not null,
  model_fallbacks text[] not null,
  system_prompt text not null,
  -- json instead of jsonb, because parameters are passed to providers unchanged.
  parameters json not null,
  tools json not null,
  memory json not null,
  visibility text not null constraint agents_visibility_check check (visibility in ('tenant', 'private')),
  owner_user_id text,
  status text not null constraint agents_status_check check (status in ('active', 'disabled')),
  metadata json not null,
  -- The transfer that keeps the agent as it is.
  locked_by uuid,
  -- Whether the agent refuses requests: it is about to move.
  closed boolean not null default false,
  -- The transfer that brings the agent: until its end nothing shows it, and its key is taken.
  arriving_in uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint agents_tenant_id_key_key unique (tenant_id, key),
  constraint agents_owner_check check (visibility = 'tenant' or owner_user_id is not null)
);
create index agents_tenant_id_idx on agent.agents (tenant_id, id);
create index agents_arriving_in_idx on agent.agents (arriving_in) where arriving_in is not null;

alter table agent.agents enable row level security;
alter table agent.agents force row level security;
create policy agents_app_select on agent.agents for select to agent_app using (
  tenant_id = agent.current_tenant() and (arriving_in is null or arriving_in = agent.current_transfer())
);
create policy agents_app_insert on agent.agents for insert to agent_app with check (
  tenant_id = agent.current_tenant() and (arriving_in is null or arriving_in = agent.current_transfer())
);
create policy agents_app_update on agent.agents for update to agent_app using (
  tenant_id = agent.current_tenant() and (arriving_in is null or arriving_in = agent.current_transfer())
) with check (
  tenant_id = agent.current_tenant() and (arriving_in is null or arriving_in = agent.current_transfer())
);
create policy agents_app_delete on agent.agents for delete to agent_app using (
  tenant_id = agent.current_tenant() and (arriving_in is null or arriving_in = agent.current_transfer())
);
grant select, insert, delete on agent.agents to agent_app;
grant update (key, name, description, model, model_fallbacks, system_prompt, parameters, tools, memory, visibility,
  owner_user_id, status, metadata, updated_at, locked_by, closed, arriving_in) on agent.agents to agent_app;

-- Cookies that users give to agents.
create table agent.cookies (
  id uuid constraint cookies_pkey primary key,
  tenant_id uuid not null,
  user_id text not null,
  agent_id uuid not null constraint cookies_agent_id_fkey references agent.agents on delete cascade,
  name text not null,
  -- Encrypted.
  value bytea not null,
  -- The domain without a leading dot.
  domain text not null,
  -- Whether subdomains do not get it.
  host_only boolean not null,
  path text not null,
  secure boolean not null,
  http_only boolean not null,
  same_site text constraint cookies_same_site_check check (same_site in ('strict', 'lax', 'none')),
  -- The site whose pages get the cookie; '' for every page.
  partition_key text not null,
  -- Null for the end of the browser's session.
  expires_at timestamptz,
  -- The time at which the cookie is deleted.
  kept_until timestamptz not null,
  source text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- A digest of domain, name, path, host_only and partition_key, which may be too long for an index.
  place bytea not null,
  constraint cookies_place_key unique (tenant_id, user_id, agent_id, place)
);
-- Serves the deletion of agents.
create index cookies_agent_id_idx on agent.cookies (agent_id);
create index cookies_user_id_idx on agent.cookies (tenant_id, user_id, id);
create index cookies_kept_until_idx on agent.cookies (kept_until);
-- Few keys have values: an index has one entry for each list of them.
create index cookies_value_sealed_by_idx on agent.cookies (agent.sealed_by(value));

alter table agent.cookies enable row level security;
alter table agent.cookies force row level security;
create policy cookies_app_select on agent.cookies for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy cookies_app_insert on agent.cookies for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy cookies_app_update on agent.cookies for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
create policy cookies_app_delete on agent.cookies for delete to agent_app
  using (tenant_id = agent.current_tenant());
-- Cookies of all tenants are deleted when they are over.
create policy cookies_system_select on agent.cookies for select to agent_system using (true);
create policy cookies_system_delete on agent.cookies for delete to agent_system using (true);
grant select, insert, delete on agent.cookies to agent_app;
grant update (id, value, secure, http_only, same_site, expires_at, kept_until, source, updated_at)
  on agent.cookies to agent_app;
-- Finds values that another key has encrypted, too.
grant select (id, tenant_id, value, kept_until), delete on agent.cookies to agent_system;

--
-- MCP servers.
--

-- Texts of tools are kept in memory by this revision of the lists that they are made from.
create function agent.set_tools_revision() returns trigger language plpgsql as $$
begin
  new.tools_revision := gen_random_uuid();
  return new;
end
$$;
revoke execute on function agent.set_tools_revision() from public;
grant execute on function agent.set_tools_revision() to agent_app;

-- MCP servers that tenants register, with the tools that they listed last.
create table agent.mcp_servers (
  id uuid constraint mcp_servers_pkey primary key,
  tenant_id uuid not null,
  name text not null,
  url text not null,
  transport text not null
    constraint mcp_servers_transport_check check (transport in ('streamable_http', 'sse', 'auto')),
  -- The type of authentication and its public settings.
  auth json not null,
  -- Encrypted JSON; null while no secret is set.
  secrets bytea,
  tool_filter json not null,
  timeout_ms integer not null,
  enabled boolean not null,
  status text not null
    constraint mcp_servers_status_check check (status in ('pending', 'connected', 'needs_auth', 'error', 'disabled')),
  status_reason text,
  -- Changes with everything that a connection depends on: url, transport, auth, secrets.
  connection_id uuid not null,
  protocol_version text,
  -- json, because schemas go to models unchanged.
  tools json not null default '[]',
  tools_updated_at timestamptz,
  -- The time from which on the list is fetched again.
  tools_expire_at timestamptz,
  -- pin: changed definitions wait for a review; follow: they are used.
  trust text not null default 'pin'
    constraint mcp_servers_trust_check check (trust in ('pin', 'follow')),
  -- Names and digests of accepted definitions, with the definition where another one is listed: a server that changes
  -- one is noticed.
  accepted json not null default '[]',
  -- Set by a trigger.
  tools_revision uuid,
  -- Failures to connect, one after the other.
  failures integer not null default 0,
  -- The server is not called before this time.
  retry_at timestamptz,
  -- As in agent.agents.
  locked_by uuid,
  arriving_in uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The issuer of the client in auth (RFC 8414); null until it is found, and for other ways to authenticate.
  client_issuer text,
  -- Another issuer that the server named later. Nothing is authenticated until an admin sends auth again.
  other_issuer text,
  constraint mcp_servers_tenant_id_name_key unique (tenant_id, name)
);
create index mcp_servers_tenant_id_idx on agent.mcp_servers (tenant_id, id);
create index mcp_servers_arriving_in_idx on agent.mcp_servers (arriving_in) where arriving_in is not null;
create index mcp_servers_secrets_sealed_by_idx on agent.mcp_servers (agent.sealed_by(secrets)) where secrets is not null;
create trigger mcp_servers_new_tools_revision before insert on agent.mcp_servers
  for each row execute function agent.set_tools_revision();
-- An unchanged list needs no other texts.
create trigger mcp_servers_tools_revision before update of tools, accepted, tool_filter on agent.mcp_servers
  for each row when (old.tools::text is distinct from new.tools::text
    or old.accepted::text is distinct from new.accepted::text
    or old.tool_filter::text is distinct from new.tool_filter::text)
  execute function agent.set_tools_revision();

alter table agent.mcp_servers enable row level security;
alter table agent.mcp_servers force row level security;
create policy mcp_servers_app_select on agent.mcp_servers for select to agent_app using (
  tenant_id = agent.current_tenant() and (arriving_in is null or arriving_in = agent.current_transfer())
);
create policy mcp_servers_app_insert on agent.mcp_servers for insert to agent_app with check (
  tenant_id = agent.current_tenant() and (arriving_in is null or arriving_in = agent.current_transfer())
);
create policy mcp_servers_app_update on agent.mcp_servers for update to agent_app using (
  tenant_id = agent.current_tenant() and (arriving_in is null or arriving_in = agent.current_transfer())
) with check (
  tenant_id = agent.current_tenant() and (arriving_in is null or arriving_in = agent.current_transfer())
);
create policy mcp_servers_app_delete on agent.mcp_servers for delete to agent_app using (
  tenant_id = agent.current_tenant() and (arriving_in is null or arriving_in = agent.current_transfer())
);
create policy mcp_servers_system_select on agent.mcp_servers for select to agent_system using (true);
grant select, insert, delete on agent.mcp_servers to agent_app;
grant update (name, url, transport, auth, secrets, tool_filter, timeout_ms, enabled, status, status_reason,
  connection_id, protocol_version, tools, tools_updated_at, tools_expire_at, failures, retry_at, updated_at, locked_by,
  arriving_in, trust, accepted) on agent.mcp_servers to agent_app;
grant update (client_issuer, other_issuer) on agent.mcp_servers to agent_app;
-- Finds secrets that another key has encrypted.
grant select (id, tenant_id, secrets) on agent.mcp_servers to agent_system;

-- Logins at MCP servers with OAuth.
create table agent.mcp_logins (
  -- Replaced by each consent.
  id uuid constraint mcp_logins_pkey primary key,
  tenant_id uuid not null,
  server_id uuid not null
    constraint mcp_logins_server_id_fkey references agent.mcp_servers on delete cascade,
  -- Empty if all users of the tenant share it.
  user_id text not null,
  -- The connection of the server that the login is for.
  connection_id uuid not null,
  -- Encrypted JSON: the tokens, the client, and the authorization server that they are for.
  secrets bytea not null,
  expires_at timestamptz,
  -- The time of the refresh, ahead of the expiry. Null without one.
  refresh_due_at timestamptz,
  -- A replica refreshes until this time; its result counts while the claim is its own.
  refresh_claim uuid,
  refresh_claimed_until timestamptz,
  -- The time at which the authorization server refused a refresh.
  lost_at timestamptz,
  -- The tools that the server listed for this user, as in agent.mcp_servers; null for a login that all share.
  tools json,
  tools_expire_at timestamptz,
  accepted json not null default '[]',
  tools_revision uuid,
  created_at timestamptz not null default clock_timestamp(),
  -- The time of the consent. The row is as old as the link to it.
  logged_in_at timestamptz,
  constraint mcp_logins_owner_key unique (server_id, user_id)
);
create index mcp_logins_tenant_id_user_id_idx on agent.mcp_logins (tenant_id, user_id);
create index mcp_logins_secrets_sealed_by_idx on agent.mcp_logins (agent.sealed_by(secrets));
create trigger mcp_logins_new_tools_revision before insert on agent.mcp_logins
  for each row execute function agent.set_tools_revision();
create trigger mcp_logins_tools_revision before update of tools, accepted on agent.mcp_logins
  for each row when (old.tools::text is distinct from new.tools::text
    or old.accepted::text is distinct from new.accepted::text)
  execute function agent.set_tools_revision();

alter table agent.mcp_logins enable row level security;
alter table agent.mcp_logins force row level security;
create policy mcp_logins_app_select on agent.mcp_logins for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy mcp_logins_app_insert on agent.mcp_logins for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy mcp_logins_app_update on agent.mcp_logins for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
create policy mcp_logins_app_delete on agent.mcp_logins for delete to agent_app
  using (tenant_id = agent.current_tenant());
create policy mcp_logins_system_select on agent.mcp_logins for select to agent_system using (true);
grant select, insert, delete on agent.mcp_logins to agent_app;
grant update (id, connection_id, secrets, expires_at, refresh_due_at, refresh_claim, refresh_claimed_until, lost_at,
  tools, tools_expire_at, created_at, accepted) on agent.mcp_logins to agent_app;
grant update (logged_in_at) on agent.mcp_logins to agent_app;
-- Finds secrets that another key has encrypted.
grant select (id, tenant_id, secrets) on agent.mcp_logins to agent_system;

--
-- Consents.
--

-- Links to consent pages.
create table agent.consent_tickets (
  id uuid constraint consent_tickets_pkey primary key,
  tenant_id uuid not null,
  -- The MCP server.
  subject_id uuid not null
    constraint consent_tickets_subject_id_fkey references agent.mcp_servers on delete cascade,
  ticket_sha256 bytea not null constraint consent_tickets_ticket_sha256_key unique,
  -- The key and user that made the link.
  asked_by json not null,
  -- Encrypted: the authorization server and the client.
  details bytea,
  -- The time at which a consent was given by this link.
  used_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index consent_tickets_subject_id_idx on agent.consent_tickets (subject_id);
create index consent_tickets_expires_at_idx on agent.consent_tickets (expires_at);
-- For the deletion of a user's data, which looks for the tickets of one tenant.
create index consent_tickets_tenant_id_idx on agent.consent_tickets (tenant_id);

alter table agent.consent_tickets enable row level security;
alter table agent.consent_tickets force row level security;
create policy consent_tickets_app_select on agent.consent_tickets for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy consent_tickets_app_insert on agent.consent_tickets for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy consent_tickets_app_update on agent.consent_tickets for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
create policy consent_tickets_app_delete on agent.consent_tickets for delete to agent_app
  using (tenant_id = agent.current_tenant());
-- A ticket or a state names its tenant.
create policy consent_tickets_system_select on agent.consent_tickets for select to agent_system using (true);
create policy consent_tickets_system_delete on agent.consent_tickets for delete to agent_system
  using (expires_at <= now());
grant select, insert, delete on agent.consent_tickets to agent_app;
grant update (used_at) on agent.consent_tickets to agent_app;
grant select, delete on agent.consent_tickets to agent_system;

-- Consents that were begun: the browser comes back with the state.
create table agent.consent_states (
  state_sha256 bytea constraint consent_states_pkey primary key,
  tenant_id uuid not null,
  ticket_id uuid not null
    constraint consent_states_ticket_id_fkey references agent.consent_tickets on delete cascade,
  -- Encrypted; null once a browser has it.
  state bytea,
  -- Encrypted: the code verifier of PKCE.
  verifier bytea not null
);
create index consent_states_ticket_id_idx on agent.consent_states (ticket_id);

alter table agent.consent_states enable row level security;
alter table agent.consent_states force row level security;
create policy consent_states_app_select on agent.consent_states for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy consent_states_app_insert on agent.consent_states for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy consent_states_app_update on agent.consent_states for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
create policy consent_states_app_delete on agent.consent_states for delete to agent_app
  using (tenant_id = agent.current_tenant());
create policy consent_states_system_select on agent.consent_states for select to agent_system using (true);
grant select, insert, delete on agent.consent_states to agent_app;
grant update (state) on agent.consent_states to agent_app;
grant select on agent.consent_states to agent_system;

-- Requests without a valid ticket or state, by the address that they came from. They belong to no tenant.
create table agent.refused_addresses (
  address text constraint refused_addresses_pkey primary key,
  minute timestamptz not null,
  requests integer not null
);
create index refused_addresses_minute_idx on agent.refused_addresses (minute);

alter table agent.refused_addresses enable row level security;
alter table agent.refused_addresses force row level security;
create policy refused_addresses_system_select on agent.refused_addresses for select to agent_system using (true);
create policy refused_addresses_system_insert on agent.refused_addresses for insert to agent_system
  with check (true);
create policy refused_addresses_system_update on agent.refused_addresses for update to agent_system
  using (true) with check (true);
create policy refused_addresses_system_delete on agent.refused_addresses for delete to agent_system using (true);
grant select, insert, delete on agent.refused_addresses to agent_system;
grant update (minute, requests) on agent.refused_addresses to agent_system;

--
-- Transfers of agents and MCP servers between tenants.
--

-- Transfers that this service has a part in. Kept for 30 days after their end.
create table agent.transfers (
  id uuid constraint transfers_pkey primary key,
  source_tenant_id uuid not null,
  target_tenant_id uuid not null,
  state text not null default 'open'
    constraint transfers_state_check check (state in ('open', 'committed', 'aborted')),
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create index transfers_ended_at_idx on agent.transfers (ended_at);

alter table agent.transfers enable row level security;
alter table agent.transfers force row level security;
create policy transfers_app_select on agent.transfers for select to agent_app
  using (agent.current_tenant() in (source_tenant_id, target_tenant_id));
create policy transfers_app_insert on agent.transfers for insert to agent_app
  with check (agent.current_tenant() = source_tenant_id);
create policy transfers_app_update on agent.transfers for update to agent_app
  using (agent.current_tenant() = source_tenant_id) with check (agent.current_tenant() = source_tenant_id);
create policy transfers_system_select on agent.transfers for select to agent_system using (true);
create policy transfers_system_delete on agent.transfers for delete to agent_system
  using (ended_at < now() - interval '30 days');
grant select, insert on agent.transfers to agent_app;
grant update (state, ended_at) on agent.transfers to agent_app;
grant select, delete on agent.transfers to agent_system;

--
-- Administrative changes.
--

-- Requests with an Idempotency-Key, and their responses.
create table agent.idempotency_records (
  -- The claim of the request that processes this record; a request that takes over an expired record sets a new id.
  id uuid constraint idempotency_records_pkey primary key,
  -- Null for owner keys.
  tenant_id uuid,
  key text not null,
  -- SHA-256 of the route and its path parameters.
  target bytea not null constraint idempotency_records_target_check check (octet_length(target) = 32),
  -- SHA-256 of everything that a repeated request must have in common with the first.
  fingerprint bytea not null constraint idempotency_records_fingerprint_check check (octet_length(fingerprint) = 32),
  -- The encrypted response; null while the request runs.
  response bytea,
  -- The end of the claim or, with a response, of its replay.
  expires_at timestamptz not null,
  constraint idempotency_records_use_key unique nulls not distinct (tenant_id, key, target)
);
create index idempotency_records_expires_at_idx on agent.idempotency_records (expires_at);

alter table agent.idempotency_records enable row level security;
alter table agent.idempotency_records force row level security;
create policy idempotency_records_app_select on agent.idempotency_records for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy idempotency_records_app_insert on agent.idempotency_records for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy idempotency_records_app_update on agent.idempotency_records for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
create policy idempotency_records_app_delete on agent.idempotency_records for delete to agent_app
  using (tenant_id = agent.current_tenant());
-- Records of owner keys, and expired records.
create policy idempotency_records_system_select on agent.idempotency_records for select to agent_system
  using (tenant_id is null or expires_at <= now());
create policy idempotency_records_system_insert on agent.idempotency_records for insert to agent_system
  with check (tenant_id is null);
create policy idempotency_records_system_update on agent.idempotency_records for update to agent_system
  using (tenant_id is null) with check (tenant_id is null);
create policy idempotency_records_system_delete on agent.idempotency_records for delete to agent_system
  using (tenant_id is null or expires_at <= now());
grant select, insert, delete on agent.idempotency_records to agent_app, agent_system;
grant update (id, fingerprint, response, expires_at) on agent.idempotency_records to agent_app, agent_system;

-- Changes of agents, MCP servers and cookies that are not yet published to the audit log.
create table agent.audit_outbox (
  id bigint generated always as identity constraint audit_outbox_pkey primary key,
  partition integer not null,
  tenant_id uuid,
  -- The time of the entry, and of everything that its transaction wrote.
  occurred_at timestamptz not null default now(),
  -- The entry without its time.
  entry json not null
);
-- For reading the oldest entries of a partition, however many entries other partitions have.
create index audit_outbox_partition_idx on agent.audit_outbox (partition, id);

alter table agent.audit_outbox enable row level security;
alter table agent.audit_outbox force row level security;
create policy audit_outbox_app_insert on agent.audit_outbox for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy audit_outbox_system_select on agent.audit_outbox for select to agent_system using (true);
create policy audit_outbox_system_delete on agent.audit_outbox for delete to agent_system using (true);
grant insert on agent.audit_outbox to agent_app;
grant select, delete on agent.audit_outbox to agent_system;

-- Changes that could not be published, with the reason. Kept for 30 days, at most 1,000.
create table agent.audit_outbox_dead_letters (
  id bigint generated always as identity constraint audit_outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table agent.audit_outbox_dead_letters enable row level security;
alter table agent.audit_outbox_dead_letters force row level security;
create policy audit_outbox_dead_letters_system_select on agent.audit_outbox_dead_letters
  for select to agent_system using (true);
create policy audit_outbox_dead_letters_system_insert on agent.audit_outbox_dead_letters
  for insert to agent_system with check (true);
create policy audit_outbox_dead_letters_system_delete on agent.audit_outbox_dead_letters
  for delete to agent_system using (true);
grant select, insert, delete on agent.audit_outbox_dead_letters to agent_system;

--
-- Alerts for subscribers.
--

-- Alerts for subscribers that are not yet published to webhook.
create table agent.alert_outbox (
  id bigint generated always as identity constraint alert_outbox_pkey primary key,
  partition integer not null,
  tenant_id uuid,
  -- The time of the event.
  occurred_at timestamptz not null default now(),
  -- The event without its time.
  entry json not null
);
-- For reading the oldest entries of a partition, however many entries other partitions have.
create index alert_outbox_partition_idx on agent.alert_outbox (partition, id);

alter table agent.alert_outbox enable row level security;
alter table agent.alert_outbox force row level security;
create policy alert_outbox_app_insert on agent.alert_outbox for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy alert_outbox_system_select on agent.alert_outbox for select to agent_system using (true);
create policy alert_outbox_system_delete on agent.alert_outbox for delete to agent_system using (true);
grant insert on agent.alert_outbox to agent_app;
grant select, delete on agent.alert_outbox to agent_system;

-- Alerts that could not be published, with the reason. Kept for 30 days, at most 1,000.
create table agent.alert_outbox_dead_letters (
  id bigint generated always as identity constraint alert_outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table agent.alert_outbox_dead_letters enable row level security;
alter table agent.alert_outbox_dead_letters force row level security;
create policy alert_outbox_dead_letters_system_select on agent.alert_outbox_dead_letters
  for select to agent_system using (true);
create policy alert_outbox_dead_letters_system_insert on agent.alert_outbox_dead_letters
  for insert to agent_system with check (true);
create policy alert_outbox_dead_letters_system_delete on agent.alert_outbox_dead_letters
  for delete to agent_system using (true);
grant select, insert, delete on agent.alert_outbox_dead_letters to agent_system;

-- Requests of a tenant in its last minute with any, by which the gateway calls an address that the tenant chose.
create table agent.minute_counts (
  tenant_id uuid not null,
  kind text not null,
  minute timestamptz not null,
  count integer not null,
  constraint minute_counts_pkey primary key (tenant_id, kind)
) with (fillfactor = 50);

alter table agent.minute_counts enable row level security;
alter table agent.minute_counts force row level security;
create policy minute_counts_app_select on agent.minute_counts for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy minute_counts_app_insert on agent.minute_counts for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy minute_counts_app_update on agent.minute_counts for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
grant select, insert on agent.minute_counts to agent_app;
grant update (minute, count) on agent.minute_counts to agent_app;
