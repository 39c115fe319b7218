-- Refresh tokens of ended logins that their issuers have not revoked yet: asked again for a day.
create table tenant.token_revocations (
  id uuid constraint token_revocations_pkey primary key,
  -- The name of the issuer in the settings.
  issuer text not null,
  login_id uuid not null,
  -- The person: who has logged in again meanwhile keeps the tokens.
  iss text not null,
  sub text not null,
  -- Encrypted, as that of the login was.
  refresh_token bytea not null,
  attempts integer not null default 0,
  next_at timestamptz not null,
  created_at timestamptz not null default now()
);
create index token_revocations_issuer_idx on tenant.token_revocations (issuer, next_at);
-- For the deletion of old ones.
create index token_revocations_created_at_idx on tenant.token_revocations (created_at);

alter table tenant.token_revocations enable row level security;
alter table tenant.token_revocations force row level security;
create policy token_revocations_system_select on tenant.token_revocations for select to tenant_system using (true);
create policy token_revocations_system_insert on tenant.token_revocations for insert to tenant_system with check (true);
create policy token_revocations_system_update on tenant.token_revocations for update to tenant_system
  using (true) with check (true);
create policy token_revocations_system_delete on tenant.token_revocations for delete to tenant_system using (true);
grant select, insert, delete on tenant.token_revocations to tenant_system;
grant update (attempts, next_at) on tenant.token_revocations to tenant_system;
