-- The network of a program that waits for a person, so that a few networks can't take all places. Null for those that a
-- replica of the release before has added.
alter table tenant.device_logins add column network text;
create index device_logins_network_idx on tenant.device_logins (network) where decided_at is null;

-- Logouts that issuers have reported, for as long as logins that were under way then may open a session.
create table tenant.issuer_logouts (
  id uuid constraint issuer_logouts_pkey primary key,
  iss text not null,
  sub text,
  -- The session at the issuer; null for all sessions of the person.
  sid text,
  ended_at timestamptz not null,
  constraint issuer_logouts_named_check check (coalesce(sub, sid) is not null)
);
create index issuer_logouts_sid_idx on tenant.issuer_logouts (iss, sid) where sid is not null;
create index issuer_logouts_sub_idx on tenant.issuer_logouts (iss, sub) where sid is null;
-- For the deletion of old ones.
create index issuer_logouts_ended_at_idx on tenant.issuer_logouts (ended_at);

alter table tenant.issuer_logouts enable row level security;
alter table tenant.issuer_logouts force row level security;
-- People at issuers belong to no tenant, and the session of a login is opened in the tenant that they have chosen.
create policy issuer_logouts_app_select on tenant.issuer_logouts for select to tenant_app using (true);
create policy issuer_logouts_system_select on tenant.issuer_logouts for select to tenant_system using (true);
create policy issuer_logouts_system_insert on tenant.issuer_logouts for insert to tenant_system with check (true);
create policy issuer_logouts_system_delete on tenant.issuer_logouts for delete to tenant_system using (true);
grant select on tenant.issuer_logouts to tenant_app;
grant select, insert, delete on tenant.issuer_logouts to tenant_system;
