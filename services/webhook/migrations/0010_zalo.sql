-- Channels whose provider gives tokens for a time, after a consent in a browser.

alter table webhook.channel_instances
  -- Encrypted. The refresh token is good for one refresh.
  add column access_token bytea,
  add column refresh_token bytea,
  -- When the tokens are refreshed: ahead of the expiry of the access token.
  add column refresh_due_at timestamptz,
  -- Since when the access token is stored.
  add column token_at timestamptz,
  -- A replica refreshes until this time; its result counts while the claim is its own.
  add column refresh_claim uuid,
  add column refresh_claimed_until timestamptz,
  add constraint channel_instances_tokens_check
    check (num_nulls(access_token, refresh_token, refresh_due_at) in (0, 3));
create index channel_instances_refresh_due_at_idx on webhook.channel_instances (refresh_due_at)
  where refresh_due_at is not null;

-- Links to consent pages.
create table webhook.consent_tickets (
  id uuid constraint consent_tickets_pkey primary key,
  tenant_id uuid not null,
  -- The channel.
  subject_id uuid not null
    constraint consent_tickets_subject_id_fkey references webhook.channel_instances on delete cascade,
  ticket_sha256 bytea not null constraint consent_tickets_ticket_sha256_key unique,
  -- The key and user that have made the link.
  asked_by json not null,
  -- Encrypted: what is kept with the ticket.
  details bytea,
  -- When a consent was given by it.
  used_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index consent_tickets_subject_id_idx on webhook.consent_tickets (subject_id);
create index consent_tickets_expires_at_idx on webhook.consent_tickets (expires_at);

-- Consents that were begun: the browser comes back with the state.
create table webhook.consent_states (
  state_sha256 bytea constraint consent_states_pkey primary key,
  tenant_id uuid not null,
  ticket_id uuid not null
    constraint consent_states_ticket_id_fkey references webhook.consent_tickets on delete cascade,
  -- Encrypted; null once a browser has it.
  state bytea,
  -- Encrypted: of PKCE.
  verifier bytea not null
);
create index consent_states_ticket_id_idx on webhook.consent_states (ticket_id);

alter table webhook.consent_tickets enable row level security;
alter table webhook.consent_tickets force row level security;
alter table webhook.consent_states enable row level security;
alter table webhook.consent_states force row level security;

create policy consent_tickets_app_select on webhook.consent_tickets for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy consent_tickets_app_insert on webhook.consent_tickets for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy consent_tickets_app_update on webhook.consent_tickets for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
-- A ticket or a state names its tenant.
create policy consent_tickets_system_select on webhook.consent_tickets for select to webhook_system using (true);
create policy consent_tickets_system_delete on webhook.consent_tickets for delete to webhook_system
  using (expires_at <= now());

create policy consent_states_app_select on webhook.consent_states for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy consent_states_app_insert on webhook.consent_states for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy consent_states_app_update on webhook.consent_states for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy consent_states_app_delete on webhook.consent_states for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy consent_states_system_select on webhook.consent_states for select to webhook_system using (true);

grant update (access_token, refresh_token, refresh_due_at, token_at, refresh_claim, refresh_claimed_until)
  on webhook.channel_instances to webhook_app;
grant select, insert on webhook.consent_tickets to webhook_app;
grant update (used_at) on webhook.consent_tickets to webhook_app;
grant select, delete on webhook.consent_tickets to webhook_system;
grant select, insert, delete on webhook.consent_states to webhook_app;
grant update (state) on webhook.consent_states to webhook_app;
grant select on webhook.consent_states to webhook_system;
