-- Tenants take turns at each provider.
create index batches_provider_idx on chat.batches (provider, tenant_id, due_at) where ended_at is null;
create index files_provider_idx on chat.files (provider, tenant_id, due_at) where deleted_at is not null;
