-- SCIM 2.0: users and groups of an identity provider.

alter table tenant.users
  -- Attributes that have no column of their own, with the folded address of filters as `email`; null for users unknown to
  -- SCIM.
  add column scim jsonb,
  add column scim_email text collate "C" generated always as (scim ->> 'email') stored;
-- Statistics would keep what is deleted with a user.
alter table tenant.users alter column scim set statistics 0;
alter table tenant.users alter column scim_email set statistics 0;
grant update (scim) on tenant.users to tenant_app;
create index users_scim_idx on tenant.users (tenant_id, id) where scim is not null;
create index users_scim_email_idx on tenant.users (tenant_id, scim_email) where scim_email is not null;

alter table tenant.user_directories
  -- Users known to SCIM.
  add column scim_users integer not null default 0;
grant update (scim_users) on tenant.user_directories to tenant_app;

create function tenant.count_scim_user() returns trigger language plpgsql as $$
declare
  change integer := case when tg_op = 'DELETE' then 0 else (new.scim is not null)::integer end - (old.scim is not null)::integer;
begin
  if change <> 0 then
    update tenant.user_directories set scim_users = scim_users + change where tenant_id = old.tenant_id;
  end if;
  return null;
end;
$$;
revoke execute on function tenant.count_scim_user() from public;
create trigger users_scim_counted after update of scim or delete on tenant.users
  for each row execute function tenant.count_scim_user();

alter table tenant.groups
  -- Whether SCIM knows the group.
  add column is_scim boolean not null default false,
  add column updated_at timestamptz not null default now();
grant update (is_scim, updated_at) on tenant.groups to tenant_app;
create index groups_scim_idx on tenant.groups (tenant_id, id) where is_scim;

-- Members are counted by statement: row by row, 10,000 new members of a group would rewrite its row as often.
create or replace function tenant.count_group_member() returns trigger language plpgsql as $$
declare
  counted record;
begin
  for counted in select group_id, count(*)::integer as members from changed group by group_id order by group_id loop
    update tenant.groups
    set members = members + case when tg_op = 'INSERT' then counted.members else -counted.members end
    where id = counted.group_id;
  end loop;
  return null;
end;
$$;
create or replace trigger group_members_counted after insert on tenant.group_members
  referencing new table as changed for each statement execute function tenant.count_group_member();
create trigger group_members_uncounted after delete on tenant.group_members
  referencing old table as changed for each statement execute function tenant.count_group_member();

-- The attribute of SCIM that is the user id of new users.
alter table tenant.tenants add column scim_user_id text not null default 'externalId'
  constraint tenants_scim_user_id_check check (scim_user_id in ('externalId', 'userName'));
grant update (scim_user_id) on tenant.tenants to tenant_app;
grant update (scim_user_id) on tenant.tenants to tenant_system;
