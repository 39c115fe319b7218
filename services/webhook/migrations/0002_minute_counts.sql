-- Requests of a tenant in its last minute with any, by which the gateway calls an address that the tenant chose.
create table webhook.minute_counts (
  tenant_id uuid not null,
  kind text not null,
  minute timestamptz not null,
  count integer not null,
  constraint minute_counts_pkey primary key (tenant_id, kind)
) with (fillfactor = 50);

alter table webhook.minute_counts enable row level security;
alter table webhook.minute_counts force row level security;
create policy minute_counts_app_select on webhook.minute_counts for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy minute_counts_app_insert on webhook.minute_counts for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy minute_counts_app_update on webhook.minute_counts for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
grant select, insert on webhook.minute_counts to webhook_app;
grant update (minute, count) on webhook.minute_counts to webhook_app;
