-- Requests with an Idempotency-Key.
create table chat.idempotency_records (
  -- The claim of the request that processes this record; a request that takes over an expired record sets a new id.
  id uuid constraint idempotency_records_pkey primary key,
  tenant_id uuid not null,
  key text not null,
  -- SHA-256 of the route and its path parameters.
  target bytea not null constraint idempotency_records_target_check check (octet_length(target) = 32),
  -- SHA-256 of everything that a repeated request must have in common with the first.
  fingerprint bytea not null constraint idempotency_records_fingerprint_check check (octet_length(fingerprint) = 32),
  -- The encrypted response; null while the request runs.
  response bytea,
  -- The end of the claim or, with a response, of its replay.
  expires_at timestamptz not null,
  constraint idempotency_records_use_key unique nulls not distinct (tenant_id, key, target)
);
create index idempotency_records_expires_at_idx on chat.idempotency_records (expires_at);

alter table chat.idempotency_records enable row level security;
alter table chat.idempotency_records force row level security;
create policy idempotency_records_system_select on chat.idempotency_records for select to chat_system using (true);
create policy idempotency_records_system_insert on chat.idempotency_records for insert to chat_system with check (true);
create policy idempotency_records_system_update on chat.idempotency_records for update to chat_system
  using (true) with check (true);
create policy idempotency_records_system_delete on chat.idempotency_records for delete to chat_system using (true);
grant select, insert, delete on chat.idempotency_records to chat_system;
grant update (id, fingerprint, response, expires_at) on chat.idempotency_records to chat_system;

-- SHA-256 of the request of a batch, with its Idempotency-Key; null without one.
alter table chat.batches add column request_digest bytea;
create index batches_request_digest_idx on chat.batches (tenant_id, request_digest) where request_digest is not null;
