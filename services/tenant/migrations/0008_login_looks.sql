-- Looks at the mappings of people who have logged in, by refresh tokens, and logouts that their issuers start.
alter table tenant.logins
  -- When the issuer is asked again; null where it is not: without a refresh token, and after the last session.
  add column look_at timestamptz,
  -- How often it was asked. A replica that was slow doesn't overwrite the result of the next look.
  add column looks integer not null default 0;
-- For looks that are due.
create index logins_look_at_idx on tenant.logins (issuer, look_at) where look_at is not null;
-- For looks that have failed for too long.
create index logins_looked_at_idx on tenant.logins (issuer, looked_at) where refresh_token is not null;
-- For logouts of people, and of their sessions at the issuer.
create index logins_person_idx on tenant.logins (iss, sub);
create index logins_sid_idx on tenant.logins (iss, sid) where sid is not null;

grant update (id_token, refresh_token, looked_at, look_at, looks) on tenant.logins to tenant_system;
