-- Requests with an Idempotency-Key, and their responses.

create table webhook.idempotency_records (
  -- The claim of the request that processes this record; a request that takes over an expired record sets a new id.
  id uuid constraint idempotency_records_pkey primary key,
  -- Null for owner keys.
  tenant_id uuid,
  key text not null,
  -- SHA-256 of the route and its path parameters.
  target bytea not null constraint idempotency_records_target_check check (octet_length(target) = 32),
  -- SHA-256 of everything that a repeated request must have in common with the first.
  fingerprint bytea not null constraint idempotency_records_fingerprint_check check (octet_length(fingerprint) = 32),
  -- The encrypted response; null while the request runs.
  response bytea,
  -- End of the claim or, with a response, of its replay.
  expires_at timestamptz not null,
  constraint idempotency_records_use_key unique nulls not distinct (tenant_id, key, target)
);
create index idempotency_records_expires_at_idx on webhook.idempotency_records (expires_at);

alter table webhook.idempotency_records enable row level security;
alter table webhook.idempotency_records force row level security;

create policy idempotency_records_app_select on webhook.idempotency_records for select to webhook_app
  using (tenant_id = webhook.current_tenant());
create policy idempotency_records_app_insert on webhook.idempotency_records for insert to webhook_app
  with check (tenant_id = webhook.current_tenant());
create policy idempotency_records_app_update on webhook.idempotency_records for update to webhook_app
  using (tenant_id = webhook.current_tenant()) with check (tenant_id = webhook.current_tenant());
create policy idempotency_records_app_delete on webhook.idempotency_records for delete to webhook_app
  using (tenant_id = webhook.current_tenant());
-- Records of owner keys, and expired records.
create policy idempotency_records_system_select on webhook.idempotency_records for select to webhook_system
  using (tenant_id is null or expires_at <= now());
create policy idempotency_records_system_insert on webhook.idempotency_records for insert to webhook_system
  with check (tenant_id is null);
create policy idempotency_records_system_update on webhook.idempotency_records for update to webhook_system
  using (tenant_id is null) with check (tenant_id is null);
create policy idempotency_records_system_delete on webhook.idempotency_records for delete to webhook_system
  using (tenant_id is null or expires_at <= now());

grant select, insert, delete on webhook.idempotency_records to webhook_app, webhook_system;
grant update (id, fingerprint, response, expires_at) on webhook.idempotency_records to webhook_app, webhook_system;
