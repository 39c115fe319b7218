-- Embeddings of passages. Vectors of different models are never compared.
create table memory.embeddings (
  tenant_id uuid not null,
  scope_id bigint not null,
  number integer not null,
  model text not null,
  -- Of length 1, as 32-bit floats, little-endian.
  vector bytea not null,
  -- The sign of each component: close vectors differ in few bits.
  sketch bit varying not null,
  constraint embeddings_pkey primary key (tenant_id, scope_id, number),
  constraint embeddings_chunk_fkey foreign key (tenant_id, scope_id, number) references memory.chunks on delete cascade
);
alter table memory.embeddings alter vector set storage external;

alter table memory.embeddings enable row level security;
alter table memory.embeddings force row level security;
create policy embeddings_app_select on memory.embeddings for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy embeddings_app_insert on memory.embeddings for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy embeddings_app_update on memory.embeddings for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy embeddings_app_delete on memory.embeddings for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.embeddings to memory_app;
grant update (model, vector, sketch) on memory.embeddings to memory_app;
