-- Amounts spent of policies: a row for each counter, resource and window. A counter is a policy, or one of its values.
-- Rows of minutes move on in place; concurrency has no window.
create table tenant.policy_counters (
  tenant_id uuid not null constraint policy_counters_tenant_id_fkey references tenant.tenants (id),
  -- The subject of its holds, derived from the policy and the value.
  id uuid not null,
  policy_id uuid not null,
  -- As shown. The deletion of a user's data replaces it by the id, a digest of it.
  value text not null constraint policy_counters_value_check check (length(value) <= 256),
  -- The user named by the value, or its owner.
  user_id text,
  -- The key with the request that opened the counter.
  api_key_id uuid,
  resource text not null
    constraint policy_counters_resource_check check (resource in ('requests', 'tokens', 'concurrency', 'budget')),
  window_start timestamptz not null,
  -- Null for concurrency and for budgets without an end.
  window_end timestamptz,
  -- As in limit_uses; negative while early refunds exceed the costs.
  used numeric not null default 0,
  published_percent smallint not null default 0,
  removable_at timestamptz not null,
  constraint policy_counters_pkey primary key (id, resource, window_start)
) with (fillfactor = 70);
-- Statistics would keep user ids after they are deleted.
alter table tenant.policy_counters alter column user_id set statistics 0;
alter table tenant.policy_counters alter column value set statistics 0;
create index policy_counters_removable_at_idx on tenant.policy_counters (removable_at);
create index policy_counters_policy_id_idx on tenant.policy_counters (policy_id, tenant_id, value);
create index policy_counters_user_id_idx on tenant.policy_counters (tenant_id, user_id, id) where user_id is not null;

alter table tenant.policy_counters enable row level security;
alter table tenant.policy_counters force row level security;
create policy policy_counters_app_select on tenant.policy_counters for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy policy_counters_system_select on tenant.policy_counters for select to tenant_system using (true);
create policy policy_counters_system_insert on tenant.policy_counters for insert to tenant_system with check (true);
create policy policy_counters_system_update on tenant.policy_counters for update to tenant_system
  using (true) with check (true);
create policy policy_counters_system_delete on tenant.policy_counters for delete to tenant_system using (true);
-- For users with deleted data, and resets.
create policy policy_counters_app_update on tenant.policy_counters for update to tenant_app
  using (tenant_id = tenant.current_tenant()) with check (tenant_id = tenant.current_tenant());
grant select on tenant.policy_counters to tenant_app;
grant update (value, user_id, window_end) on tenant.policy_counters to tenant_app;
grant select, insert, update, delete on tenant.policy_counters to tenant_system;

-- A released replica holds nothing, even if it leases again after a pause.
alter table tenant.limit_holders add column released_at timestamptz;
-- Each lease counts the live ones.
create index limit_holders_live_idx on tenant.limit_holders (id) where released_at is null;
-- Holds are deleted with their counters, and when their replica is released.
create policy limit_holds_system_delete on tenant.limit_holds for delete to tenant_system using (true);
grant delete on tenant.limit_holds to tenant_system;

-- How many counters a tenant has, and each of its keys has opened; those opened without a key, and for sessions.
alter table tenant.limit_uses drop constraint limit_uses_resource_check;
alter table tenant.limit_uses add constraint limit_uses_resource_check
  check (resource in (
    'requests', 'tokens', 'concurrency', 'budget', 'counts', 'counters', 'keyless_counters', 'session_counters'
  )) not valid;
