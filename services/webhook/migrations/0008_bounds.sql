-- Counts the calls of a tenant that wait, up to the most that may.
create index calls_queued_idx on webhook.calls (tenant_id) where status = 'queued';
-- For prolonging claims.
create index calls_claim_id_idx on webhook.calls (claim_id) where status = 'running';

-- Counts the requests of a target that are under way.
create index deliveries_in_flight_idx on webhook.deliveries (tenant_id, target)
  where status = 'pending' and claimed_until is not null;
-- Finds what is overdue, of all tenants.
create index deliveries_due_at_idx on webhook.deliveries (due_at) where status = 'pending';
-- For the deletion of a subscription; the other one counts what waits for it.
create index deliveries_of_subscription_idx on webhook.deliveries (subscription_id);
drop policy deliveries_system_select on webhook.deliveries;
create policy deliveries_system_select on webhook.deliveries for select to webhook_system using (true);

-- A deleted endpoint is hidden at once, and removed with its calls in batches.
alter table webhook.endpoints add column deleted_at timestamptz;
create index endpoints_deleted_at_idx on webhook.endpoints (deleted_at) where deleted_at is not null;
drop policy calls_system_delete on webhook.calls;
create policy calls_system_delete on webhook.calls for delete to webhook_system
  using (expires_at <= now() or exists (
    select from webhook.endpoints as e where e.id = endpoint_id and e.deleted_at is not null));
create policy endpoints_system_delete on webhook.endpoints for delete to webhook_system
  using (deleted_at is not null);
grant update (deleted_at) on webhook.endpoints to webhook_app;
grant delete on webhook.endpoints to webhook_system;
