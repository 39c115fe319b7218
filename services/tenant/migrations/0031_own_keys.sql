-- Keys that people make for themselves: they end with the key of their session, as keys of programs do.
alter table tenant.api_keys add column is_own boolean not null default false,
  add constraint api_keys_own_check check (not is_own or (confirmed_by is not null and user_id is not null));
-- For the keys that a person has made or given to programs, and the number of the first.
create index api_keys_confirmed_user_idx on tenant.api_keys (tenant_id, user_id, id) where confirmed_by is not null;

-- The bounds that a tenant sets for them.
alter table tenant.tenants
  add column user_keys_enabled boolean not null default true,
  add column user_keys_max integer not null default 5,
  add column user_keys_max_days integer not null default 90;
grant update (user_keys_enabled, user_keys_max, user_keys_max_days) on tenant.tenants to tenant_system;

-- How a session was opened. Null for those that a replica of the release before has opened.
alter table tenant.sessions add column opened_by text
  constraint sessions_opened_by_check check (opened_by in ('key', 'issuer', 'link', 'device'));
