-- Logins of people by OpenID Connect issuers. Each person has a key in each tenant that a mapping gives them: it has the
-- rights, its secret is thrown away, and all sessions of the person end with it.
alter table tenant.api_keys add column iss text, add column sub text;
alter table tenant.api_keys add constraint api_keys_person_check check ((iss is null) = (sub is null));
-- For the keys of a person.
create index api_keys_person_idx on tenant.api_keys (iss, sub) where iss is not null;

create table tenant.logins (
  id uuid constraint logins_pkey primary key,
  -- The name of the issuer in the settings.
  issuer text not null,
  iss text not null,
  sub text not null,
  -- The session at the issuer, where it says one.
  sid text,
  -- The browser that chooses among several tenants knows the token; null once it has chosen.
  choice_sha256 bytea
    constraint logins_choice_key unique
    constraint logins_choice_check check (octet_length(choice_sha256) = 32),
  -- Sealed.
  id_token bytea not null,
  refresh_token bytea,
  -- When the issuer confirmed the person last.
  looked_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
-- For the deletion of old ones.
create index logins_expires_at_idx on tenant.logins (expires_at);

alter table tenant.logins enable row level security;
alter table tenant.logins force row level security;
create policy logins_system_select on tenant.logins for select to tenant_system using (true);
create policy logins_system_insert on tenant.logins for insert to tenant_system with check (true);
create policy logins_system_update on tenant.logins for update to tenant_system using (true) with check (true);
create policy logins_system_delete on tenant.logins for delete to tenant_system using (true);
grant select, insert, delete on tenant.logins to tenant_system;
grant update (choice_sha256) on tenant.logins to tenant_system;

alter table tenant.sessions add column login_id uuid constraint sessions_login_id_fkey references tenant.logins (id);
-- For the sessions of a login.
create index sessions_login_id_idx on tenant.sessions (login_id) where login_id is not null;

-- Random values of logins that were used, so that none is used twice.
create table tenant.used_tokens (
  token_sha256 bytea constraint used_tokens_pkey primary key,
  expires_at timestamptz not null
);
create index used_tokens_expires_at_idx on tenant.used_tokens (expires_at);

alter table tenant.used_tokens enable row level security;
alter table tenant.used_tokens force row level security;
create policy used_tokens_system_select on tenant.used_tokens for select to tenant_system using (true);
create policy used_tokens_system_insert on tenant.used_tokens for insert to tenant_system with check (true);
create policy used_tokens_system_delete on tenant.used_tokens for delete to tenant_system using (true);
grant select, insert, delete on tenant.used_tokens to tenant_system;
