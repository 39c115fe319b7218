-- Settled cost of budgets in intervals of 15 minutes, so that a recalculated window includes earlier spending (ADR 23).

create table tenant.budget_spend (
  tenant_id uuid not null constraint budget_spend_tenant_id_fkey references tenant.tenants (id),
  -- The tenant or one of its keys.
  subject_id uuid not null,
  -- Start of the 15 minutes.
  bucket timestamptz not null,
  -- Settled, in pico-USD.
  cost numeric not null default 0 constraint budget_spend_cost_check check (cost >= 0),
  -- The highest threshold, in percent, that is in the audit log for the window that starts here.
  told_percent smallint not null default 0,
  constraint budget_spend_pkey primary key (subject_id, bucket)
) with (fillfactor = 50);
create index budget_spend_bucket_idx on tenant.budget_spend (bucket);

-- `window_start` identifies the window for replicas; `starts_at` and `ends_at` are its actual bounds. They differ after
-- settings changed. Null for limits other than budgets, and for rows written only by earlier releases.
alter table tenant.quotas
  add column starts_at timestamptz,
  add column ends_at timestamptz,
  -- The previous window, for runs that were reserved in it and settle later.
  add column previous_window timestamptz,
  add column previous_ends_at timestamptz;

-- The time of spending within the window is unknown, so it goes to the first bucket. Forced row-level security would
-- hide all rows from an owner without superuser rights.
alter table tenant.quotas no force row level security;
insert into tenant.budget_spend (tenant_id, subject_id, bucket, cost, told_percent)
  select tenant_id, subject_id, window_start, used, told_percent from tenant.quotas
  where resource = 'budget' and used > 0 and window_start > now() - interval '35 days';
alter table tenant.quotas force row level security;

alter table tenant.budget_spend enable row level security;
alter table tenant.budget_spend force row level security;
create policy budget_spend_app_select on tenant.budget_spend for select to tenant_app
  using (tenant_id = tenant.current_tenant());
create policy budget_spend_system_select on tenant.budget_spend for select to tenant_system using (true);
create policy budget_spend_system_insert on tenant.budget_spend for insert to tenant_system with check (true);
create policy budget_spend_system_update on tenant.budget_spend for update to tenant_system
  using (true) with check (true);
create policy budget_spend_system_delete on tenant.budget_spend for delete to tenant_system using (true);
grant select on tenant.budget_spend to tenant_app;
grant select, insert, delete on tenant.budget_spend to tenant_system;
grant update (cost, told_percent) on tenant.budget_spend to tenant_system;
