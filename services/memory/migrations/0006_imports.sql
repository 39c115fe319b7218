-- Imports: stored in batches under a generation that no search sees, then published by one small transaction.

-- Published generations whose replaced documents are not all removed yet.
alter table memory.agents add column replacing integer[] not null default '{}';
grant update (replacing) on memory.agents to memory_app;

-- The generation that has a document with the same path and user. The document is invisible once that generation is
-- published, which is when memory.agents.replacing lists it.
alter table memory.documents
  add column replaced_by integer,
  drop constraint documents_path_key,
  add constraint documents_path_key unique nulls not distinct (tenant_id, scope_id, path, replaced_by);
create index documents_replaced_idx on memory.documents (tenant_id, replaced_by, scope_id) include (bytes)
  where replaced_by is not null;
grant update (replaced_by, created_at) on memory.documents to memory_app;

-- The foreign key looks for passages by the document alone.
drop index memory.chunks_document_idx;
create index chunks_document_idx on memory.chunks (document_id, tenant_id);

-- A scope in which everything is replaced moves to a generation that is removed as a whole.
grant update (generation) on memory.scopes to memory_app;

-- Generations that are not finished: their documents are being stored, or what they replaced is being removed.
create table memory.imports (
  tenant_id uuid not null,
  agent_id uuid not null,
  generation integer not null,
  -- `discarded`: everything of the generation is being removed.
  state text not null default 'staging'
    constraint imports_state_check check (state in ('staging', 'published', 'discarded')),
  started_at timestamptz not null default now(),
  -- The last sign of life of the request. Without one for a minute, the import is discarded.
  alive_at timestamptz not null default now(),
  constraint imports_pkey primary key (tenant_id, agent_id, generation)
);
-- One at a time, so that of two imports the one that is published last replaces the documents of the other.
create unique index imports_staging_key on memory.imports (tenant_id, agent_id) where state = 'staging';
create index imports_started_idx on memory.imports (started_at);

alter table memory.imports enable row level security;
alter table memory.imports force row level security;
create policy imports_app_select on memory.imports for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy imports_app_insert on memory.imports for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy imports_app_update on memory.imports for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy imports_app_delete on memory.imports for delete to memory_app
  using (tenant_id = memory.current_tenant());
create policy imports_system_select on memory.imports for select to memory_system using (true);
grant select, insert, delete on memory.imports to memory_app;
grant update (state, alive_at) on memory.imports to memory_app;
grant select on memory.imports to memory_system;
