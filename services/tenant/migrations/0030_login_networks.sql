-- Networks from which people have logged in with success: some places for programs that wait for a person are theirs, so
-- that networks without a login can't take all of them.
create table tenant.login_networks (
  network text constraint login_networks_pkey primary key,
  last_login_at timestamptz not null default now()
);
-- For the deletion of old ones.
create index login_networks_last_login_at_idx on tenant.login_networks (last_login_at);

alter table tenant.login_networks enable row level security;
alter table tenant.login_networks force row level security;
create policy login_networks_system_select on tenant.login_networks for select to tenant_system using (true);
create policy login_networks_system_insert on tenant.login_networks for insert to tenant_system with check (true);
create policy login_networks_system_update on tenant.login_networks for update to tenant_system
  using (true) with check (true);
create policy login_networks_system_delete on tenant.login_networks for delete to tenant_system using (true);
grant select, insert, delete on tenant.login_networks to tenant_system;
grant update (last_login_at) on tenant.login_networks to tenant_system;
