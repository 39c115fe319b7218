-- The zone whose days and months budgets count. It is the operator's: an admin of the tenant changes `timezone` alone,
-- so that no order of zones begins a new day of a budget.
alter table tenant.tenants add column budget_timezone text;
-- Fills the rows of all tenants, which no policy shows to the owner of the table.
alter table tenant.tenants alter column budget_timezone type text using timezone;

-- A new tenant, also of the release before, begins with the zone that the operator gives it.
create function tenant.add_budget_timezone() returns trigger language plpgsql as $$
begin
  new.budget_timezone := coalesce(new.budget_timezone, new.timezone);
  return new;
end;
$$;
revoke execute on function tenant.add_budget_timezone() from public;
create trigger tenants_budget_timezone before insert on tenant.tenants
  for each row execute function tenant.add_budget_timezone();
alter table tenant.tenants alter column budget_timezone set not null;

grant update (budget_timezone) on tenant.tenants to tenant_system;
