-- Logins at MCP servers with OAuth, the consents that give them, and alerts of servers that need one.

create table agent.mcp_logins (
  -- Another one after each consent.
  id uuid constraint mcp_logins_pkey primary key,
  tenant_id uuid not null,
  server_id uuid not null
    constraint mcp_logins_server_id_fkey references agent.mcp_servers on delete cascade,
  -- Empty if all users of the tenant share it.
  user_id text not null,
  -- The connection of the server that it is for.
  connection_id uuid not null,
  -- Encrypted JSON: the tokens, the client, and the authorization server that they are for.
  secrets bytea not null,
  expires_at timestamptz,
  -- When it is refreshed: ahead of its expiry. Null without one.
  refresh_due_at timestamptz,
  -- A replica refreshes until this time; its result counts while the claim is its own.
  refresh_claim uuid,
  refresh_claimed_until timestamptz,
  -- When the authorization server refused to refresh it.
  lost_at timestamptz,
  -- What the server listed for this user, as agent.mcp_servers.tools; null for a login that all share.
  tools json,
  tools_expire_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  constraint mcp_logins_owner_key unique (server_id, user_id)
);
create index mcp_logins_tenant_id_user_id_idx on agent.mcp_logins (tenant_id, user_id);

-- Links to consent pages.
create table agent.consent_tickets (
  id uuid constraint consent_tickets_pkey primary key,
  tenant_id uuid not null,
  -- The MCP server.
  subject_id uuid not null
    constraint consent_tickets_subject_id_fkey references agent.mcp_servers on delete cascade,
  ticket_sha256 bytea not null constraint consent_tickets_ticket_sha256_key unique,
  -- The key and user that have made the link.
  asked_by json not null,
  -- Encrypted: the authorization server and the client.
  details bytea,
  -- When a consent was given by it.
  used_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index consent_tickets_subject_id_idx on agent.consent_tickets (subject_id);
create index consent_tickets_expires_at_idx on agent.consent_tickets (expires_at);

-- Consents that were begun: the browser comes back with the state.
create table agent.consent_states (
  state_sha256 bytea constraint consent_states_pkey primary key,
  tenant_id uuid not null,
  ticket_id uuid not null
    constraint consent_states_ticket_id_fkey references agent.consent_tickets on delete cascade,
  -- Encrypted; null once a browser has it.
  state bytea,
  -- Encrypted: of PKCE.
  verifier bytea not null
);
create index consent_states_ticket_id_idx on agent.consent_states (ticket_id);

-- Requests without a valid ticket or state, by the address that they came from. Of no tenant.
create table agent.refused_addresses (
  address text constraint refused_addresses_pkey primary key,
  minute timestamptz not null,
  requests integer not null
);
create index refused_addresses_minute_idx on agent.refused_addresses (minute);

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

-- Alerts that could not be published, with the reason. Kept for 30 days, at most 1,000.
create table agent.alert_outbox_dead_letters (
  id bigint generated always as identity constraint alert_outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table agent.mcp_logins enable row level security;
alter table agent.mcp_logins force row level security;
alter table agent.consent_tickets enable row level security;
alter table agent.consent_tickets force row level security;
alter table agent.consent_states enable row level security;
alter table agent.consent_states force row level security;
alter table agent.refused_addresses enable row level security;
alter table agent.refused_addresses force row level security;
alter table agent.alert_outbox enable row level security;
alter table agent.alert_outbox force row level security;
alter table agent.alert_outbox_dead_letters enable row level security;
alter table agent.alert_outbox_dead_letters force row level security;

create policy mcp_logins_app_select on agent.mcp_logins for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy mcp_logins_app_insert on agent.mcp_logins for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy mcp_logins_app_update on agent.mcp_logins for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
create policy mcp_logins_app_delete on agent.mcp_logins for delete to agent_app
  using (tenant_id = agent.current_tenant());
create policy mcp_logins_system_select on agent.mcp_logins for select to agent_system using (true);

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

create policy consent_states_app_select on agent.consent_states for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy consent_states_app_insert on agent.consent_states for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy consent_states_app_update on agent.consent_states for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
create policy consent_states_app_delete on agent.consent_states for delete to agent_app
  using (tenant_id = agent.current_tenant());
create policy consent_states_system_select on agent.consent_states for select to agent_system using (true);

create policy refused_addresses_system_select on agent.refused_addresses for select to agent_system using (true);
create policy refused_addresses_system_insert on agent.refused_addresses for insert to agent_system
  with check (true);
create policy refused_addresses_system_update on agent.refused_addresses for update to agent_system
  using (true) with check (true);
create policy refused_addresses_system_delete on agent.refused_addresses for delete to agent_system using (true);

create policy alert_outbox_app_insert on agent.alert_outbox for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy alert_outbox_system_select on agent.alert_outbox for select to agent_system using (true);
create policy alert_outbox_system_delete on agent.alert_outbox for delete to agent_system using (true);
create policy alert_outbox_dead_letters_system_select on agent.alert_outbox_dead_letters
  for select to agent_system using (true);
create policy alert_outbox_dead_letters_system_insert on agent.alert_outbox_dead_letters
  for insert to agent_system with check (true);
create policy alert_outbox_dead_letters_system_delete on agent.alert_outbox_dead_letters
  for delete to agent_system using (true);

grant select, insert, delete on agent.mcp_logins to agent_app;
grant update (id, connection_id, secrets, expires_at, refresh_due_at, refresh_claim, refresh_claimed_until,
  lost_at, tools, tools_expire_at, created_at) on agent.mcp_logins to agent_app;
-- Finds what another key has encrypted.
grant select (id, tenant_id, secrets) on agent.mcp_logins to agent_system;
grant select, insert, delete on agent.consent_tickets to agent_app;
grant update (used_at) on agent.consent_tickets to agent_app;
grant select, delete on agent.consent_tickets to agent_system;
grant select, insert, delete on agent.consent_states to agent_app;
grant update (state) on agent.consent_states to agent_app;
grant select on agent.consent_states to agent_system;
grant select, insert, delete on agent.refused_addresses to agent_system;
grant update (minute, requests) on agent.refused_addresses to agent_system;
grant insert on agent.alert_outbox to agent_app;
grant select, delete on agent.alert_outbox to agent_system;
grant select, insert, delete on agent.alert_outbox_dead_letters to agent_system;
