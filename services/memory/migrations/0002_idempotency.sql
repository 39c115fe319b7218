-- Requests with an Idempotency-Key, and their responses.

create table memory.idempotency_records (
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
create index idempotency_records_expires_at_idx on memory.idempotency_records (expires_at);

alter table memory.idempotency_records enable row level security;
alter table memory.idempotency_records force row level security;

create policy idempotency_records_app_select on memory.idempotency_records for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy idempotency_records_app_insert on memory.idempotency_records for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy idempotency_records_app_update on memory.idempotency_records for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy idempotency_records_app_delete on memory.idempotency_records for delete to memory_app
  using (tenant_id = memory.current_tenant());
-- Records of owner keys, and expired records.
create policy idempotency_records_system_select on memory.idempotency_records for select to memory_system
  using (tenant_id is null or expires_at <= now());
create policy idempotency_records_system_insert on memory.idempotency_records for insert to memory_system
  with check (tenant_id is null);
create policy idempotency_records_system_update on memory.idempotency_records for update to memory_system
  using (tenant_id is null) with check (tenant_id is null);
create policy idempotency_records_system_delete on memory.idempotency_records for delete to memory_system
  using (tenant_id is null or expires_at <= now());

grant select, insert, delete on memory.idempotency_records to memory_app, memory_system;
grant update (id, fingerprint, response, expires_at) on memory.idempotency_records to memory_app, memory_system;
