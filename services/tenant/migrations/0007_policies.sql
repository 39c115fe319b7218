-- Limits and budgets of the runs that they select. A policy of the owner has no tenant, and counts each tenant apart.
create table tenant.policies (
  id uuid constraint policies_pkey primary key,
  tenant_id uuid constraint policies_tenant_id_fkey references tenant.tenants (id),
  -- For a policy of the owner: the tenants that it holds for; null for all.
  tenants uuid[],
  name text not null,
  -- The names and patterns of each field that is named. Runs of any value match a field that is not.
  selection jsonb not null,
  -- Each value has a counter of its own; null for one counter.
  per text,
  limits jsonb not null,
  budget jsonb,
  -- Percentages of the budget at which an event is published.
  alerts smallint[] not null,
  enforce boolean not null,
  enabled boolean not null,
  -- The members of limits that overrides have set.
  overridden text[] not null default '{}',
  -- The key of the ids of its counters, sealed: without it, no id says which value it counts.
  counter_key bytea not null,
  -- A counter of the policy counts what came after this time: its creation, or the last change of the selection.
  counts_since timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint policies_name_key unique nulls not distinct (tenant_id, name),
  constraint policies_tenants_check check (tenant_id is null or tenants is null)
);

create index policies_counter_key_sealed_by_idx on tenant.policies (tenant.sealed_by(counter_key));

alter table tenant.policies enable row level security;
alter table tenant.policies force row level security;
create policy policies_app_select on tenant.policies for select to tenant_app
  using (tenant_id = tenant.current_tenant()
    or tenant_id is null and (tenants is null or tenant.current_tenant() = any (tenants)));
create policy policies_app_insert on tenant.policies for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy policies_app_update on tenant.policies for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy policies_app_delete on tenant.policies for delete to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy policies_system_select on tenant.policies for select to tenant_system using (true);
create policy policies_system_insert on tenant.policies for insert to tenant_system with check (true);
create policy policies_system_update on tenant.policies for update to tenant_system using (true) with check (true);
create policy policies_system_delete on tenant.policies for delete to tenant_system using (true);
grant select, insert, update, delete on tenant.policies to tenant_app, tenant_system;

-- Amounts of single values of `per`, or of the users of a group.
create table tenant.policy_overrides (
  policy_id uuid not null
    constraint policy_overrides_policy_id_fkey references tenant.policies (id) on delete cascade,
  -- That of the policy: null for the owner's.
  tenant_id uuid,
  value text not null,
  -- The name of a group as it was sent, for one missing in the directory. Null for other values.
  label text,
  -- Absent members follow the policy; null is no limit.
  amounts jsonb not null,
  -- Without effect from then on; null for no end.
  until timestamptz,
  note text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint policy_overrides_pkey primary key (policy_id, value)
);
-- For the deletion of a user's data.
create index policy_overrides_tenant_id_idx on tenant.policy_overrides (tenant_id, value);

alter table tenant.policy_overrides enable row level security;
alter table tenant.policy_overrides force row level security;
create policy policy_overrides_app_select on tenant.policy_overrides for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy policy_overrides_app_insert on tenant.policy_overrides for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy policy_overrides_app_update on tenant.policy_overrides for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
create policy policy_overrides_app_delete on tenant.policy_overrides for delete to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy policy_overrides_system_select on tenant.policy_overrides for select to tenant_system using (true);
create policy policy_overrides_system_insert on tenant.policy_overrides for insert to tenant_system with check (true);
create policy policy_overrides_system_update on tenant.policy_overrides for update to tenant_system
  using (true) with check (true);
create policy policy_overrides_system_delete on tenant.policy_overrides for delete to tenant_system using (true);
grant select, insert, update, delete on tenant.policy_overrides to tenant_app, tenant_system;

-- The settings of a tenant have its policies. One of the owner is part of those of each tenant that it holds for.
create function tenant.add_policy_change() returns trigger language plpgsql as $$
declare
  own uuid := coalesce(new.tenant_id, old.tenant_id);
begin
  if own is not null then
    insert into tenant.changes (tenant_id) values (own);
  else
    insert into tenant.changes (tenant_id)
    select t.id from tenant.tenants t
    where (tg_op <> 'INSERT' and (old.tenants is null or t.id = any (old.tenants)))
      or (tg_op <> 'DELETE' and (new.tenants is null or t.id = any (new.tenants)));
  end if;
  return null;
end
$$;
revoke execute on function tenant.add_policy_change() from public;
create trigger policies_changed after insert or update or delete on tenant.policies
  for each row execute function tenant.add_policy_change();

-- Admin keys with every scope get the new one: only the platform's owner could make another key with it.
alter table tenant.api_keys no force row level security;
alter table tenant.changes no force row level security;
update tenant.api_keys set scopes = array_append(scopes, 'policies.write')
where role = 'admin' and revoked_at is null and not 'policies.write' = any(scopes)
  and scopes @> '{chat,agents.read,agents.write,memory.read,memory.write,analytics.read,cookies.write,channels.read,channels.write,mcp.write,webhooks.write,keys.write,transfers.write}';
alter table tenant.api_keys force row level security;
alter table tenant.changes force row level security;
