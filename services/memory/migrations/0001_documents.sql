-- What agents remember: documents, their passages, and the inverted index of lexical search.

-- The tenant whose rows a transaction of memory_app may see. Raises an exception if none is set, so that a missing
-- setting causes an error instead of an empty result.
create function memory.current_tenant() returns uuid language plpgsql stable as $$
declare
  current text := current_setting('gatehouse.tenant_id', true);
begin
  -- On a reused connection the value is '' after a transaction-local setting ended; treat it as not set.
  if current is null or current = '' then
    raise exception 'no tenant is set for this transaction' using errcode = 'insufficient_privilege';
  end if;
  return current::uuid;
end
$$;

-- Agents that have a memory.
create table memory.agents (
  tenant_id uuid not null,
  agent_id uuid not null,
  -- How new passages are analysed for the index.
  analyser text not null constraint agents_analyser_check check (analyser in ('english', 'simple')),
  -- Whether passages of another analyser are in the index: after a change, until all are analysed again.
  mixed boolean not null default false,
  -- Generations that are not visible: imports under way.
  hidden integer[] not null default '{}',
  last_generation integer not null default 0,
  -- The embedding model that was last seen at work.
  embedding_model text,
  -- The job that embeds its passages, and until when it may.
  embedding_job uuid,
  embedding_until timestamptz,
  created_at timestamptz not null default now(),
  -- When the agent was deleted. The row stays, so that nothing under way writes to its memory again.
  deleted_at timestamptz,
  constraint agents_pkey primary key (tenant_id, agent_id)
);

-- What a tenant uses of its limits.
create table memory.tenants (
  tenant_id uuid constraint tenants_pkey primary key,
  documents bigint not null default 0,
  bytes bigint not null default 0,
  entities bigint not null default 0
) with (fillfactor = 50);

-- What belongs to an agent, or to one user of it, in one generation: everything in it is counted here. Writers lock
-- this row first, so that they can't deadlock on the parts of the index that they share.
create table memory.scopes (
  id bigint generated always as identity constraint scopes_pkey primary key,
  tenant_id uuid not null,
  agent_id uuid not null,
  -- '' for what belongs to the agent.
  user_id text not null,
  -- 0, or that of a large import.
  generation integer not null default 0,
  documents integer not null default 0 constraint scopes_documents_check check (documents >= 0),
  chunks integer not null default 0 constraint scopes_chunks_check check (chunks >= 0),
  bytes bigint not null default 0 constraint scopes_bytes_check check (bytes >= 0),
  next_number integer not null default 0,
  -- Sum of the lengths of its chunks, for their average.
  tokens bigint not null default 0 constraint scopes_tokens_check check (tokens >= 0),
  constraint scopes_use_key unique (tenant_id, agent_id, user_id, generation)
) with (fillfactor = 50);
create index scopes_user_idx on memory.scopes (tenant_id, user_id);

create table memory.documents (
  id uuid constraint documents_pkey primary key,
  tenant_id uuid not null,
  scope_id bigint not null constraint documents_scope_id_fkey references memory.scopes,
  path text collate "C" not null,
  title text,
  metadata jsonb not null,
  source_kind text not null constraint documents_source_kind_check check (source_kind in ('api', 'conversation', 'import')),
  run_id uuid,
  session_id text,
  text text not null,
  bytes integer not null,
  chunks integer not null,
  -- The model whose embedding every passage has; null while there is none.
  embedded_by text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint documents_path_key unique (tenant_id, scope_id, path)
);
create index documents_scope_idx on memory.documents (tenant_id, scope_id, id);
create index documents_pending_idx on memory.documents (tenant_id, scope_id) where embedded_by is null;
create index documents_run_idx on memory.documents (tenant_id, run_id) where run_id is not null;
create index documents_session_idx on memory.documents (tenant_id, session_id) where session_id is not null;

-- Passages. `terms` and `counts` repeat what the index has of the passage, so that it can be removed from it.
create table memory.chunks (
  tenant_id uuid not null,
  scope_id bigint not null,
  -- Its number in the scope, by which the index names it. Never used twice.
  number integer not null,
  document_id uuid not null constraint chunks_document_id_fkey references memory.documents,
  start_line integer not null,
  end_line integer not null,
  -- Headings above the passage; searched with it.
  context text not null,
  text text not null,
  analyser text not null,
  length integer not null,
  terms bigint[] not null,
  counts smallint[] not null,
  constraint chunks_pkey primary key (tenant_id, scope_id, number)
);
create index chunks_document_idx on memory.chunks (tenant_id, document_id);

-- The inverted index. A row lists which of 1,024 neighbouring passages have a term, in 4 bytes each (see
-- src/search/postings.ts). One row for each passage and term took 206 bytes each; this takes 20.
create table memory.postings (
  tenant_id uuid not null,
  scope_id bigint not null,
  -- A 64-bit hash of the word.
  term bigint not null,
  -- number / 1024
  block integer not null,
  entries bytea not null constraint postings_entries_check check (octet_length(entries) between 4 and 4096),
  constraint postings_pkey primary key (tenant_id, scope_id, term, block)
) with (fillfactor = 80, toast_tuple_target = 8160);

do $$
declare
  name text;
begin
  foreach name in array array['agents', 'tenants', 'scopes', 'documents', 'chunks', 'postings'] loop
    execute format('alter table memory.%I enable row level security', name);
    execute format('alter table memory.%I force row level security', name);
    execute format('create policy %1$s_app_select on memory.%1$I for select to memory_app
      using (tenant_id = memory.current_tenant())', name);
    execute format('create policy %1$s_app_insert on memory.%1$I for insert to memory_app
      with check (tenant_id = memory.current_tenant())', name);
    execute format('create policy %1$s_app_update on memory.%1$I for update to memory_app
      using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant())', name);
    execute format('create policy %1$s_app_delete on memory.%1$I for delete to memory_app
      using (tenant_id = memory.current_tenant())', name);
    execute format('grant select, insert, delete on memory.%I to memory_app', name);
  end loop;
end
$$;

grant usage on schema memory to memory_app, memory_system;
revoke execute on function memory.current_tenant() from public;
grant execute on function memory.current_tenant() to memory_app;
grant update (analyser, mixed, hidden, last_generation, embedding_model, embedding_job, embedding_until,
  deleted_at) on memory.agents to memory_app;
grant update (documents, bytes, entities) on memory.tenants to memory_app;
grant update (documents, chunks, bytes, next_number, tokens) on memory.scopes to memory_app;
grant update (scope_id, title, metadata, source_kind, run_id, session_id, text, bytes, chunks, embedded_by, updated_at) on
  memory.documents to memory_app;
grant update (analyser, length, terms, counts) on memory.chunks to memory_app;
grant update (entries) on memory.postings to memory_app;
grant select on memory.migrations to memory_app, memory_system;
