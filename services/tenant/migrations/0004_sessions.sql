-- Sessions of people who use pages of the gateway in a browser, of tenants and of owners, who belong to no tenant.
create table tenant.sessions (
  id uuid constraint sessions_pkey primary key,
  tenant_id uuid constraint sessions_tenant_id_fkey references tenant.tenants (id),
  token_sha256 bytea not null
    constraint sessions_token_sha256_key unique
    constraint sessions_token_check check (octet_length(token_sha256) = 32),
  -- The key that it was made with. The session ends with it.
  key_id uuid not null constraint sessions_key_id_fkey references tenant.api_keys (id),
  -- The secret that it was made with: it ends when that is no longer valid, as after a rotation.
  key_secret_sha256 bytea not null,
  name text not null,
  role text not null constraint sessions_role_check check (role in ('owner', 'admin', 'user')),
  scopes text[] not null,
  user_id text,
  created_at timestamptz not null default now(),
  -- Approximate: updated at most once a minute.
  last_seen_at timestamptz not null default now(),
  -- It ends then, however much it is used.
  expires_at timestamptz not null,
  -- It ends then if it is not used before, or has ended.
  ends_at timestamptz not null,
  constraint sessions_tenant_check check ((role = 'owner') = (tenant_id is null)),
  constraint sessions_ends_at_check check (ends_at <= expires_at)
);
-- For the list of a tenant and its number of sessions.
create index sessions_tenant_id_idx on tenant.sessions (tenant_id, id);
-- For the number of sessions of a key.
create index sessions_key_id_idx on tenant.sessions (key_id, id);
-- For the deletion of ended sessions.
create index sessions_ends_at_idx on tenant.sessions (ends_at);

alter table tenant.sessions enable row level security;
alter table tenant.sessions force row level security;
create policy sessions_app_select on tenant.sessions for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy sessions_app_insert on tenant.sessions for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy sessions_app_update on tenant.sessions for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy sessions_system_select on tenant.sessions for select to tenant_system using (true);
create policy sessions_system_insert on tenant.sessions for insert to tenant_system with check (true);
create policy sessions_system_update on tenant.sessions for update to tenant_system using (true) with check (true);
create policy sessions_system_delete on tenant.sessions for delete to tenant_system using (true);
grant select, insert on tenant.sessions to tenant_app;
-- The rights of a session never change; only its end does.
grant update (ends_at) on tenant.sessions to tenant_app;
grant select, insert, delete on tenant.sessions to tenant_system;
grant update (last_seen_at, ends_at) on tenant.sessions to tenant_system;

-- Networks whose logins were refused, with their number in a minute.
create table tenant.refused_addresses (
  address text constraint refused_addresses_pkey primary key,
  minute timestamptz not null,
  requests integer not null
);
create index refused_addresses_minute_idx on tenant.refused_addresses (minute);

alter table tenant.refused_addresses enable row level security;
alter table tenant.refused_addresses force row level security;
create policy refused_addresses_system_select on tenant.refused_addresses for select to tenant_system using (true);
create policy refused_addresses_system_insert on tenant.refused_addresses for insert to tenant_system
  with check (true);
create policy refused_addresses_system_update on tenant.refused_addresses for update to tenant_system
  using (true) with check (true);
create policy refused_addresses_system_delete on tenant.refused_addresses for delete to tenant_system using (true);
grant select, insert, delete on tenant.refused_addresses to tenant_system;
grant update (minute, requests) on tenant.refused_addresses to tenant_system;
