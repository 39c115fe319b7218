-- Keys that people give to programs on their machines by a code (RFC 8628), and links that log in once.

-- The key whose session confirmed a key, and the secret that this session was made with: the key ends with either.
alter table tenant.api_keys
  add column confirmed_by uuid constraint api_keys_confirmed_by_fkey references tenant.api_keys (id),
  add column confirmed_secret_sha256 bytea,
  add constraint api_keys_confirmed_check check ((confirmed_by is null) = (confirmed_secret_sha256 is null)),
  add constraint api_keys_confirmed_end_check check (confirmed_by is null or expires_at is not null);
-- For the keys that end with another, and their number.
create index api_keys_confirmed_by_idx on tenant.api_keys (confirmed_by, id) where confirmed_by is not null;
-- For the deletion of those that ended long ago.
create index api_keys_confirmed_end_idx on tenant.api_keys (expires_at) where confirmed_by is not null;

create policy api_keys_system_delete on tenant.api_keys for delete to tenant_system using (confirmed_by is not null);
grant update (expires_at) on tenant.api_keys to tenant_app;
grant update (expires_at, secret_sha256, previous_secret_sha256, previous_valid_until) on tenant.api_keys
  to tenant_system;
grant delete on tenant.api_keys to tenant_system;

-- Programs that wait for a key. They belong to no tenant before a person has confirmed them.
create table tenant.device_logins (
  id uuid constraint device_logins_pkey primary key,
  -- The code that the program keeps, and the one that the person reads.
  device_sha256 bytea not null
    constraint device_logins_device_key unique
    constraint device_logins_device_check check (octet_length(device_sha256) = 32),
  user_sha256 bytea not null
    constraint device_logins_user_key unique
    constraint device_logins_user_check check (octet_length(user_sha256) = 32),
  client_id text not null,
  client_ip text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  polled_at timestamptz,
  -- When a person decided, and the session in which they allowed it; null for one that they denied.
  decided_at timestamptz,
  session_id uuid,
  constraint device_logins_session_check check (session_id is null or decided_at is not null)
);
-- For the deletion of old ones.
create index device_logins_expires_at_idx on tenant.device_logins (expires_at);

alter table tenant.device_logins enable row level security;
alter table tenant.device_logins force row level security;
create policy device_logins_system_select on tenant.device_logins for select to tenant_system using (true);
create policy device_logins_system_insert on tenant.device_logins for insert to tenant_system with check (true);
create policy device_logins_system_update on tenant.device_logins for update to tenant_system
  using (true) with check (true);
create policy device_logins_system_delete on tenant.device_logins for delete to tenant_system using (true);
grant select, insert, delete on tenant.device_logins to tenant_system;
grant update (polled_at, decided_at, session_id) on tenant.device_logins to tenant_system;

-- Links that log in once, each with the public half of a key's text and the secret that the key must still have.
create table tenant.login_tickets (
  ticket_sha256 bytea constraint login_tickets_pkey primary key
    constraint login_tickets_ticket_check check (octet_length(ticket_sha256) = 32),
  key_id text not null,
  secret_sha256 bytea not null,
  expires_at timestamptz not null
);
-- For the deletion of old ones.
create index login_tickets_expires_at_idx on tenant.login_tickets (expires_at);

alter table tenant.login_tickets enable row level security;
alter table tenant.login_tickets force row level security;
create policy login_tickets_system_select on tenant.login_tickets for select to tenant_system using (true);
create policy login_tickets_system_insert on tenant.login_tickets for insert to tenant_system with check (true);
create policy login_tickets_system_delete on tenant.login_tickets for delete to tenant_system using (true);
grant select, insert, delete on tenant.login_tickets to tenant_system;
