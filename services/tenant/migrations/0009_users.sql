-- Users and groups of tenants. Requests may also act for users outside this directory.

-- One row for each tenant with a user; doors look up names for these tenants alone.
create table tenant.user_directories (
  tenant_id uuid constraint user_directories_pkey primary key
    constraint user_directories_tenant_id_fkey references tenant.tenants (id),
  -- Rows of `users` and `groups`.
  users integer not null default 0,
  groups integer not null default 0
) with (fillfactor = 50);

alter table tenant.user_directories enable row level security;
alter table tenant.user_directories force row level security;
create policy user_directories_app_select on tenant.user_directories for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy user_directories_app_insert on tenant.user_directories for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy user_directories_app_update on tenant.user_directories for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy user_directories_system_select on tenant.user_directories for select to tenant_system using (true);
grant select, insert on tenant.user_directories to tenant_app;
grant update (users, groups) on tenant.user_directories to tenant_app;
grant select on tenant.user_directories to tenant_system;
create trigger user_directories_added after insert on tenant.user_directories
  for each row execute function tenant.add_settings_change();

create table tenant.users (
  id uuid constraint users_pkey primary key,
  tenant_id uuid not null constraint users_tenant_id_fkey references tenant.tenants (id),
  -- Null for a block whose user was deleted: its names are hashes then.
  user_id text,
  display_name text,
  emails text[] not null default '{}',
  -- The id at the identity provider.
  external_id text,
  -- The first side to write the user.
  source text not null constraint users_source_check check (source in ('api', 'login', 'scim')),
  -- The blocking sides. Each lifts its own block alone.
  blocked_by text[] not null default '{}' constraint users_blocked_by_check check (blocked_by <@ '{api,scim}'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Approximate: updated at most once an hour.
  last_seen_at timestamptz,
  -- For lists: row-level security lets an index answer comparisons of such columns alone.
  is_blocked boolean not null generated always as (blocked_by <> '{}') stored,
  display_folded text collate "C" generated always as (lower(display_name)) stored
) with (fillfactor = 80);
-- Statistics would keep what is deleted with a user.
alter table tenant.users alter column user_id set statistics 0;
alter table tenant.users alter column display_name set statistics 0;
alter table tenant.users alter column display_folded set statistics 0;
alter table tenant.users alter column emails set statistics 0;
alter table tenant.users alter column external_id set statistics 0;
create index users_tenant_id_idx on tenant.users (tenant_id, id) where user_id is not null;
-- For the list of blocked users, and of active ones.
create index users_status_idx on tenant.users (tenant_id, is_blocked, id) where user_id is not null;
-- For searches by the beginning of a name.
create index users_display_folded_idx on tenant.users (tenant_id, display_folded) where display_folded is not null;
create unique index users_external_id_key on tenant.users (tenant_id, external_id) where external_id is not null;

alter table tenant.users enable row level security;
alter table tenant.users force row level security;
create policy users_app_select on tenant.users for select to tenant_app using (tenant_id = tenant.current_tenant());
create policy users_app_insert on tenant.users for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy users_app_update on tenant.users for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy users_app_delete on tenant.users for delete to tenant_app using (tenant_id = tenant.current_tenant());
create policy users_system_select on tenant.users for select to tenant_system using (true);
create policy users_system_update on tenant.users for update to tenant_system using (true) with check (true);
grant select, insert, delete on tenant.users to tenant_app;
grant update (user_id, display_name, emails, external_id, source, blocked_by, updated_at, last_seen_at) on tenant.users
  to tenant_app;
grant select on tenant.users to tenant_system;
grant update (last_seen_at) on tenant.users to tenant_system;

-- The names of users: each means one user. A user has a row for the user id and one for each alias.
create table tenant.user_names (
  tenant_id uuid not null,
  -- In lower case. For a deleted user, a hash with a key of SECRETS_KEYRING after a character outside ASCII.
  folded text collate "C" not null,
  person_id uuid not null constraint user_names_person_id_fkey references tenant.users (id),
  -- The alias as it was sent; null for the user id, and for hashes.
  alias text,
  constraint user_names_pkey primary key (tenant_id, folded)
);
alter table tenant.user_names alter column folded set statistics 0;
alter table tenant.user_names alter column alias set statistics 0;
create index user_names_person_id_idx on tenant.user_names (person_id);
-- The hashes, which are counted by key.
create index user_names_hash_idx on tenant.user_names (folded) where folded >= '§';

alter table tenant.user_names enable row level security;
alter table tenant.user_names force row level security;
create policy user_names_app_select on tenant.user_names for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy user_names_app_insert on tenant.user_names for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy user_names_app_delete on tenant.user_names for delete to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy user_names_system_select on tenant.user_names for select to tenant_system using (true);
grant select, insert, delete on tenant.user_names to tenant_app;
grant select on tenant.user_names to tenant_system;

-- Groups of users. They stay without members.
create table tenant.groups (
  id uuid constraint groups_pkey primary key,
  tenant_id uuid not null constraint groups_tenant_id_fkey references tenant.tenants (id),
  name text not null,
  -- The name in lower case and in Unicode's composed form.
  folded text collate "C" not null,
  -- The id at the identity provider.
  external_id text,
  members integer not null default 0 constraint groups_members_check check (members >= 0),
  created_at timestamptz not null default now(),
  constraint groups_folded_key unique (tenant_id, folded)
) with (fillfactor = 50);
create index groups_tenant_id_idx on tenant.groups (tenant_id, id);
create unique index groups_external_id_key on tenant.groups (tenant_id, external_id) where external_id is not null;

alter table tenant.groups enable row level security;
alter table tenant.groups force row level security;
create policy groups_app_select on tenant.groups for select to tenant_app using (tenant_id = tenant.current_tenant());
create policy groups_app_insert on tenant.groups for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy groups_app_update on tenant.groups for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy groups_system_select on tenant.groups for select to tenant_system using (true);
grant select, insert on tenant.groups to tenant_app;
grant update (name, folded, external_id, members) on tenant.groups to tenant_app;
grant select on tenant.groups to tenant_system;

create table tenant.group_members (
  group_id uuid not null constraint group_members_group_id_fkey references tenant.groups (id),
  person_id uuid not null constraint group_members_person_id_fkey references tenant.users (id),
  tenant_id uuid not null,
  -- The sides with this membership. Each ends its own alone.
  sources text[] not null constraint group_members_sources_check
    check (sources <@ '{api,login,scim}' and cardinality(sources) > 0),
  constraint group_members_pkey primary key (group_id, person_id)
);
create index group_members_person_id_idx on tenant.group_members (person_id);

alter table tenant.group_members enable row level security;
alter table tenant.group_members force row level security;
create policy group_members_app_select on tenant.group_members for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy group_members_app_insert on tenant.group_members for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy group_members_app_update on tenant.group_members for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy group_members_app_delete on tenant.group_members for delete to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy group_members_system_select on tenant.group_members for select to tenant_system using (true);
grant select, insert, delete on tenant.group_members to tenant_app;
grant update (sources) on tenant.group_members to tenant_app;
grant select on tenant.group_members to tenant_system;

create function tenant.count_group_member() returns trigger language plpgsql as $$
begin
  update tenant.groups set members = members + case when tg_op = 'INSERT' then 1 else -1 end
  where id = coalesce(new.group_id, old.group_id);
  return null;
end;
$$;
revoke execute on function tenant.count_group_member() from public;
create trigger group_members_counted after insert or delete on tenant.group_members
  for each row execute function tenant.count_group_member();

-- Changes of users, for what doors keep of names: the id of a user or group, or the hash of a name, as doors calculate it
-- too. A release without this column returns the tenant for it.
alter table tenant.changes add column subject text;

create function tenant.user_subject(tenant_id uuid, folded text) returns text language sql immutable parallel safe
return encode(sha256(convert_to(tenant_id::text || ' ' || folded, 'UTF8')), 'hex');
revoke execute on function tenant.user_subject(uuid, text) from public;
grant execute on function tenant.user_subject(uuid, text) to tenant_app, tenant_system;

create function tenant.add_name_change() returns trigger language plpgsql as $$
begin
  insert into tenant.changes (tenant_id, subject) values (coalesce(new.tenant_id, old.tenant_id),
    tenant.user_subject(coalesce(new.tenant_id, old.tenant_id), coalesce(new.folded, old.folded)));
  return null;
end;
$$;
revoke execute on function tenant.add_name_change() from public;
create trigger user_names_changed after insert or delete on tenant.user_names
  for each row execute function tenant.add_name_change();

-- Every change of a user or its groups sets `updated_at`. A renamed group changes what doors keep of its members.
create function tenant.add_id_change() returns trigger language plpgsql as $$
begin
  insert into tenant.changes (tenant_id, subject) values (new.tenant_id, new.id::text);
  return null;
end;
$$;
revoke execute on function tenant.add_id_change() from public;
create trigger users_changed after update of updated_at on tenant.users
  for each row execute function tenant.add_id_change();
create trigger groups_changed after update of name on tenant.groups
  for each row execute function tenant.add_id_change();

-- Deletions of what a user left under other names. They are shown as parts of this one.
alter table tenant.user_deletions add column parts uuid[] not null default '{}';
grant update (parts) on tenant.user_deletions to tenant_app;

-- The users of a tenant's runs: optional, required, or of the directory.
alter table tenant.tenants add column acting_users text not null default 'any'
  constraint tenants_acting_users_check check (acting_users in ('any', 'required', 'known'));
grant update (acting_users) on tenant.tenants to tenant_app;
grant update (acting_users) on tenant.tenants to tenant_system;

-- Admin keys with every scope get the new one: only the platform's owner could make another key with it. The owner of the
-- table reads no row while its policies hold for it too.
alter table tenant.api_keys no force row level security;
alter table tenant.changes no force row level security;
update tenant.api_keys set scopes = array_append(scopes, 'users.write')
where role = 'admin' and revoked_at is null and not 'users.write' = any(scopes)
  and scopes @> '{chat,agents.read,agents.write,memory.read,memory.write,analytics.read,cookies.write,channels.read,channels.write,mcp.write,webhooks.write,keys.write,transfers.write}';
alter table tenant.api_keys force row level security;
alter table tenant.changes force row level security;

-- In another transaction than the one that adds it: leases go on meanwhile.
alter table tenant.limit_uses validate constraint limit_uses_resource_check;
