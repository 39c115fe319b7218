-- Limits and budgets: the amount spent in each window, and the amounts held by replicas of chat.

-- One row for each limit of a tenant or key; its window advances in place.
create table tenant.quotas (
  tenant_id uuid not null constraint quotas_tenant_id_fkey references tenant.tenants (id),
  -- The tenant or one of its keys.
  subject_id uuid not null,
  resource text not null
    constraint quotas_resource_check check (resource in ('requests', 'tokens', 'concurrency', 'budget')),
  -- The epoch for concurrency, which has no window.
  window_start timestamptz not null default to_timestamp(0),
  -- Requests and tokens: spent or leased. Budget: settled, in pico-USD. Concurrency: always 0.
  used numeric not null default 0 constraint quotas_used_check check (used >= 0),
  -- The highest budget threshold, in percent, that was published for this window.
  told_percent smallint not null default 0,
  constraint quotas_pkey primary key (subject_id, resource)
) with (fillfactor = 50);
create index quotas_tenant_id_idx on tenant.quotas (tenant_id);

-- Replicas of chat that hold leases or did so recently.
create table tenant.quota_holders (
  id uuid constraint quota_holders_pkey primary key,
  seen_at timestamptz not null default now()
) with (fillfactor = 50);

-- The part of concurrency (slots) or of a budget (pico-USD, reserved or not yet settled) that a holder keeps.
create table tenant.quota_holds (
  holder_id uuid not null
    constraint quota_holds_holder_id_fkey references tenant.quota_holders (id) on delete cascade,
  tenant_id uuid not null,
  subject_id uuid not null,
  resource text not null constraint quota_holds_resource_check check (resource in ('concurrency', 'budget')),
  window_start timestamptz not null,
  amount numeric not null constraint quota_holds_amount_check check (amount >= 0),
  -- The sequence of the call that wrote this row; a delayed copy of an earlier call has no effect.
  sequence bigint not null,
  constraint quota_holds_pkey primary key (subject_id, resource, holder_id)
) with (fillfactor = 50);
create index quota_holds_holder_id_idx on tenant.quota_holds (holder_id);

-- Settlements whose cost is included in `used`, so that repeats have no effect.
create table tenant.settlements (
  id uuid constraint settlements_pkey primary key,
  settled_at timestamptz not null default now()
);
create index settlements_settled_at_idx on tenant.settlements (settled_at);

-- For reading the few keys with their own limits, by tenant.
create index api_keys_limited_idx on tenant.api_keys (tenant_id) where limits is not null or budget is not null;

alter table tenant.quotas enable row level security;
alter table tenant.quotas force row level security;
alter table tenant.quota_holders enable row level security;
alter table tenant.quota_holders force row level security;
alter table tenant.quota_holds enable row level security;
alter table tenant.quota_holds force row level security;
alter table tenant.settlements enable row level security;
alter table tenant.settlements force row level security;

create policy quotas_app_select on tenant.quotas for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy quotas_system_select on tenant.quotas for select to tenant_system using (true);
create policy quotas_system_insert on tenant.quotas for insert to tenant_system with check (true);
create policy quotas_system_update on tenant.quotas for update to tenant_system using (true) with check (true);
create policy quota_holds_app_select on tenant.quota_holds for select to tenant_app
  using (tenant_id = tenant.current_tenant());
-- Visible to every tenant: the row contains only whether a holder is alive.
create policy quota_holders_app_select on tenant.quota_holders for select to tenant_app using (true);
create policy quota_holders_system_select on tenant.quota_holders for select to tenant_system using (true);
create policy quota_holders_system_insert on tenant.quota_holders for insert to tenant_system with check (true);
create policy quota_holders_system_update on tenant.quota_holders for update to tenant_system
  using (true) with check (true);
create policy quota_holders_system_delete on tenant.quota_holders for delete to tenant_system using (true);
create policy quota_holds_system_select on tenant.quota_holds for select to tenant_system using (true);
create policy quota_holds_system_insert on tenant.quota_holds for insert to tenant_system with check (true);
create policy quota_holds_system_update on tenant.quota_holds for update to tenant_system using (true) with check (true);
create policy settlements_system_select on tenant.settlements for select to tenant_system using (true);
create policy settlements_system_insert on tenant.settlements for insert to tenant_system with check (true);
create policy settlements_system_delete on tenant.settlements for delete to tenant_system using (true);

grant select on tenant.quotas, tenant.quota_holds, tenant.quota_holders to tenant_app;
grant select, insert, update on tenant.quotas, tenant.quota_holds to tenant_system;
grant select, insert, update, delete on tenant.quota_holders to tenant_system;
grant select, insert, delete on tenant.settlements to tenant_system;
