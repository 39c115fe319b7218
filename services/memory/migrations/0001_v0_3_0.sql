-- Documents and the knowledge graph that agents remember, and the indexes for searching them.
--
-- PostgreSQL keeps samples of each column in its statistics, also of rows that were deleted since. No query plan needs
-- those of texts, which are found by an index: these columns have the statistics target 0.

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
revoke execute on function memory.current_tenant() from public;
grant execute on function memory.current_tenant() to memory_app;

grant usage on schema memory to memory_app, memory_system;
grant select on memory.migrations to memory_app, memory_system;

-- The start of the request that writes, which its transaction sets; else the time of the transaction. A deletion of a user's
-- data removes what requests before it have written, and nothing that the user does after it.
create function memory.acted_at() returns timestamptz language sql stable parallel safe
return coalesce(nullif(current_setting('gatehouse.acted_at', true), '')::timestamptz, now());

--
-- Agents and tenants.
--

-- Agents that have a memory.
create table memory.agents (
  tenant_id uuid not null,
  agent_id uuid not null,
  -- The analysis of new passages for the index.
  analyser text not null constraint agents_analyser_check check (analyser in ('english', 'simple')),
  -- Whether passages of another analyser are in the index: after a change, until all are analysed again.
  mixed boolean not null default false,
  -- The oldest tokeniser of passages in the index.
  tokeniser smallint not null default 2,
  -- Generations that are not visible: imports under way.
  hidden integer[] not null default '{}',
  -- Published generations whose replaced documents are not all removed yet.
  replacing integer[] not null default '{}',
  last_generation integer not null default 0,
  -- The embedding model that was last seen at work.
  embedding_model text,
  -- The job that embeds its passages, and until when it may.
  embedding_job uuid,
  embedding_until timestamptz,
  created_at timestamptz not null default now(),
  -- The time at which the agent was deleted. The row stays, so that nothing under way writes to its memory again.
  deleted_at timestamptz,
  -- The transfer that keeps the memory of the agent as it is.
  locked_by uuid,
  constraint agents_pkey primary key (tenant_id, agent_id)
);

alter table memory.agents enable row level security;
alter table memory.agents force row level security;
create policy agents_app_select on memory.agents for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy agents_app_insert on memory.agents for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy agents_app_update on memory.agents for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy agents_app_delete on memory.agents for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.agents to memory_app;
grant update (analyser, mixed, hidden, last_generation, embedding_model, embedding_job, embedding_until, deleted_at,
  replacing, locked_by, tokeniser) on memory.agents to memory_app;

-- The part of its limits that a tenant uses.
create table memory.tenants (
  tenant_id uuid constraint tenants_pkey primary key,
  documents bigint not null default 0,
  bytes bigint not null default 0,
  entities bigint not null default 0,
  -- Versions of relations; they count as entities.
  relations bigint not null default 0
) with (fillfactor = 50);

alter table memory.tenants enable row level security;
alter table memory.tenants force row level security;
create policy tenants_app_select on memory.tenants for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy tenants_app_insert on memory.tenants for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy tenants_app_update on memory.tenants for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy tenants_app_delete on memory.tenants for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.tenants to memory_app;
grant update (documents, bytes, entities, relations) on memory.tenants to memory_app;

--
-- Documents, their passages, and the inverted index of lexical search.
--

-- The documents of an agent, or of one user of it, in one generation: everything in them is counted here. Writers lock
-- this row first, so that they can't deadlock on the parts of the index that they share.
create table memory.scopes (
  id bigint generated always as identity constraint scopes_pkey primary key,
  tenant_id uuid not null,
  agent_id uuid not null,
  -- '' for documents of the agent itself.
  user_id text not null,
  -- 0, or the generation of an import.
  generation integer not null default 0,
  documents integer not null default 0 constraint scopes_documents_check check (documents >= 0),
  chunks integer not null default 0 constraint scopes_chunks_check check (chunks >= 0),
  bytes bigint not null default 0,
  next_number integer not null default 0,
  -- Sum of the lengths of its chunks, for their average.
  tokens bigint not null default 0 constraint scopes_tokens_check check (tokens >= 0),
  constraint scopes_use_key unique (tenant_id, agent_id, user_id, generation)
) with (fillfactor = 50);
alter table memory.scopes alter user_id set statistics 0;
create index scopes_user_idx on memory.scopes (tenant_id, user_id);

alter table memory.scopes enable row level security;
alter table memory.scopes force row level security;
create policy scopes_app_select on memory.scopes for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy scopes_app_insert on memory.scopes for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy scopes_app_update on memory.scopes for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy scopes_app_delete on memory.scopes for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.scopes to memory_app;
grant update (documents, chunks, bytes, next_number, tokens, generation) on memory.scopes to memory_app;

-- Texts that agents remember. A document that moves to another tenant keeps its id, and is in both tenants for a while;
-- so are passages, entities and relations.
create table memory.documents (
  id uuid not null,
  tenant_id uuid not null,
  scope_id bigint not null constraint documents_scope_id_fkey references memory.scopes,
  path text collate "C" not null,
  title text,
  metadata jsonb not null,
  source_kind text not null constraint documents_source_kind_check check (source_kind in ('api', 'conversation', 'import')),
  run_id uuid,
  session_id text,
  text text not null,
  -- The bytes of the text.
  bytes integer not null,
  -- The bytes of everything else that the tenant has given; null counts as 0.
  extra integer,
  chunks integer not null,
  -- The generation that has a document with the same path and user. The document is invisible once that generation is
  -- published, which is when memory.agents.replacing lists it.
  replaced_by integer,
  -- The model whose embedding every passage has; null while there is none.
  embedded_by text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The time of the request that has written the row, of the first one where later ones have changed it.
  acted_at timestamptz default memory.acted_at(),
  constraint documents_pkey primary key (id, tenant_id),
  constraint documents_path_key unique nulls not distinct (tenant_id, scope_id, path, replaced_by)
);
alter table memory.documents
  alter path set statistics 0,
  alter title set statistics 0,
  alter metadata set statistics 0,
  alter session_id set statistics 0,
  alter text set statistics 0;
create index documents_scope_idx on memory.documents (tenant_id, scope_id, id);
create index documents_pending_idx on memory.documents (tenant_id, scope_id) where embedded_by is null;
create index documents_run_idx on memory.documents (tenant_id, run_id) where run_id is not null;
create index documents_session_idx on memory.documents (tenant_id, session_id) where session_id is not null;
create index documents_replaced_idx on memory.documents (tenant_id, replaced_by, scope_id) include (bytes)
  where replaced_by is not null;

alter table memory.documents enable row level security;
alter table memory.documents force row level security;
create policy documents_app_select on memory.documents for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy documents_app_insert on memory.documents for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy documents_app_update on memory.documents for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy documents_app_delete on memory.documents for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.documents to memory_app;
grant update (scope_id, title, metadata, source_kind, run_id, session_id, text, bytes, chunks, embedded_by, updated_at,
  replaced_by, created_at, extra) on memory.documents to memory_app;
grant update (acted_at) on memory.documents to memory_app;

-- Notes passages with the words of the first tokeniser, which are indexed again by a job. Names of later analysers end
-- with the number of their tokeniser.
create function memory.note_first_tokeniser() returns trigger language plpgsql as $$
begin
  update memory.agents set tokeniser = 1
  where tokeniser <> 1
    and (tenant_id, agent_id) = (select tenant_id, agent_id from memory.scopes where id = new.scope_id);
  return null;
end
$$;
revoke execute on function memory.note_first_tokeniser() from public;
grant execute on function memory.note_first_tokeniser() to memory_app;

-- Passages. `terms` and `counts` repeat the entries of the passage in the index, so that it can be removed from it.
create table memory.chunks (
  tenant_id uuid not null,
  scope_id bigint not null,
  -- The number in the scope, by which the index names the passage. Never used twice.
  number integer not null,
  document_id uuid not null,
  start_line integer not null,
  end_line integer not null,
  -- Headings above the passage; searched with it.
  context text not null,
  text text not null,
  analyser text not null,
  length integer not null,
  terms bigint[] not null,
  counts smallint[] not null,
  constraint chunks_pkey primary key (tenant_id, scope_id, number),
  constraint chunks_document_id_fkey foreign key (document_id, tenant_id) references memory.documents
);
alter table memory.chunks
  alter context set statistics 0,
  alter text set statistics 0,
  alter terms set statistics 0;
-- The foreign key looks for passages by the document alone.
create index chunks_document_idx on memory.chunks (document_id, tenant_id);
create trigger chunks_first_tokeniser after insert or update of analyser on memory.chunks
  for each row when (new.analyser in ('english', 'simple')) execute function memory.note_first_tokeniser();

alter table memory.chunks enable row level security;
alter table memory.chunks force row level security;
create policy chunks_app_select on memory.chunks for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy chunks_app_insert on memory.chunks for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy chunks_app_update on memory.chunks for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy chunks_app_delete on memory.chunks for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.chunks to memory_app;
grant update (analyser, length, terms, counts) on memory.chunks to memory_app;

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

alter table memory.postings enable row level security;
alter table memory.postings force row level security;
create policy postings_app_select on memory.postings for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy postings_app_insert on memory.postings for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy postings_app_update on memory.postings for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy postings_app_delete on memory.postings for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.postings to memory_app;
grant update (entries) on memory.postings to memory_app;

-- Embeddings of passages. Vectors of different models are never compared.
create table memory.embeddings (
  tenant_id uuid not null,
  scope_id bigint not null,
  number integer not null,
  model text not null,
  -- A vector of length 1, as 32-bit floats, little-endian.
  vector bytea not null,
  -- The sign of each component: close vectors differ in few bits.
  sketch bit varying not null,
  constraint embeddings_pkey primary key (tenant_id, scope_id, number),
  constraint embeddings_chunk_fkey foreign key (tenant_id, scope_id, number) references memory.chunks on delete cascade
)
-- An index is read alone where the table's pages are known to have no newer rows.
with (autovacuum_vacuum_insert_scale_factor = 0.02);
alter table memory.embeddings alter vector set storage external;
-- A search reads the sketches of all its passages. A row has the vector as well: 30 times as much to read.
create index embeddings_sketches on memory.embeddings (tenant_id, scope_id, model) include (number, sketch)
  -- An index row has 2,700 bytes at most. No model has as many components.
  where bit_length(sketch) <= 16000;

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

--
-- Imports: stored in batches under a generation that no search sees, then published by one small transaction.
--

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

--
-- The knowledge graph: entities, and relations between them with the time when they are valid.
--

-- The graph of an agent, or of one user of it. Writers lock the row of the agent first (users share it), then that of
-- their user, so that they can't deadlock.
create table memory.graphs (
  id bigint generated always as identity constraint graphs_pkey primary key,
  tenant_id uuid not null,
  agent_id uuid not null,
  -- '' for the graph of the agent itself.
  user_id text not null,
  -- Only generation 0 is visible. Others are about to be published or deleted.
  generation bigint not null default 0,
  entities bigint not null default 0 constraint graphs_entities_check check (entities >= 0),
  relations bigint not null default 0 constraint graphs_relations_check check (relations >= 0),
  constraint graphs_use_key unique (tenant_id, agent_id, user_id, generation)
) with (fillfactor = 50);
alter table memory.graphs alter user_id set statistics 0;
create index graphs_user_idx on memory.graphs (tenant_id, user_id) where user_id <> '';

alter table memory.graphs enable row level security;
alter table memory.graphs force row level security;
create policy graphs_app_select on memory.graphs for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy graphs_app_insert on memory.graphs for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy graphs_app_update on memory.graphs for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy graphs_app_delete on memory.graphs for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.graphs to memory_app;
grant update (generation, entities, relations) on memory.graphs to memory_app;

create table memory.entities (
  id uuid not null,
  tenant_id uuid not null,
  graph_id bigint not null constraint entities_graph_id_fkey references memory.graphs,
  external_id text collate "C",
  name text not null,
  type text not null,
  -- Name and type in lower case: entities without an external id are the same when these are.
  name_key text collate "C" not null,
  type_key text collate "C" not null,
  description text,
  -- Not jsonb, which rejects some strings that JSON allows.
  properties json not null,
  -- The bytes that count towards the limit of the tenant; null counts as 0.
  size integer,
  -- The run that extracted it.
  run_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  acted_at timestamptz default memory.acted_at(),
  constraint entities_pkey primary key (id, tenant_id)
);
alter table memory.entities
  alter external_id set statistics 0,
  alter name set statistics 0,
  alter type set statistics 0,
  alter name_key set statistics 0,
  alter type_key set statistics 0,
  alter description set statistics 0,
  alter properties set statistics 0;
-- No index begins with the tenant: PostgreSQL would read all rows of a tenant that its statistics do not have yet.
create unique index entities_external_id_key on memory.entities (graph_id, external_id) where external_id is not null;
create unique index entities_name_key on memory.entities (graph_id, name_key, type_key, external_id nulls first)
  nulls not distinct;
create index entities_graph_idx on memory.entities (graph_id, id);
create index entities_run_idx on memory.entities (run_id) where run_id is not null;

alter table memory.entities enable row level security;
alter table memory.entities force row level security;
create policy entities_app_select on memory.entities for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy entities_app_insert on memory.entities for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy entities_app_update on memory.entities for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy entities_app_delete on memory.entities for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.entities to memory_app;
grant update (external_id, name, type, name_key, type_key, description, properties, updated_at, size)
  on memory.entities to memory_app;
-- An entity or relation that a later request of its user stores as a whole becomes that request's: a deletion of what
-- the user did before leaves it, and it no longer names the run that stored it first.
grant update (acted_at, run_id) on memory.entities to memory_app;

-- One row for each version of a relation. Versions with the same source, target and type never overlap in time.
create table memory.relations (
  id uuid not null,
  tenant_id uuid not null,
  -- The graph of source and target, or that of a user whose relation has an entity of the agent as source or target.
  graph_id bigint not null constraint relations_graph_id_fkey references memory.graphs,
  source_id uuid not null,
  target_id uuid not null,
  type text collate "C" not null,
  weight double precision not null,
  properties json not null,
  valid_from timestamptz not null,
  valid_to timestamptz,
  size integer,
  run_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  acted_at timestamptz default memory.acted_at(),
  constraint relations_pkey primary key (id, tenant_id),
  constraint relations_source_id_fkey foreign key (source_id, tenant_id) references memory.entities,
  constraint relations_target_id_fkey foreign key (target_id, tenant_id) references memory.entities,
  constraint relations_valid_check check (valid_to > valid_from)
);
alter table memory.relations
  alter type set statistics 0,
  alter properties set statistics 0;
create unique index relations_version_key on memory.relations (graph_id, source_id, target_id, type, valid_from);
-- The strongest relations of an entity, with everything that a traversal reads.
create index relations_source_idx on memory.relations (source_id, graph_id, weight desc, target_id)
  include (tenant_id, id, type, valid_from, valid_to);
create index relations_target_idx on memory.relations (target_id, graph_id, weight desc, source_id)
  include (tenant_id, id, type, valid_from, valid_to);
create index relations_run_idx on memory.relations (run_id) where run_id is not null;

alter table memory.relations enable row level security;
alter table memory.relations force row level security;
create policy relations_app_select on memory.relations for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy relations_app_insert on memory.relations for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy relations_app_update on memory.relations for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy relations_app_delete on memory.relations for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.relations to memory_app;
grant update (weight, properties, valid_from, valid_to, updated_at, size) on memory.relations to memory_app;
grant update (acted_at, run_id) on memory.relations to memory_app;

--
-- Transfers of agents between tenants.
--

-- Transfers that this service has a part in. Kept for 30 days after their end.
create table memory.transfers (
  id uuid constraint transfers_pkey primary key,
  source_tenant_id uuid not null,
  target_tenant_id uuid not null,
  state text not null default 'open'
    constraint transfers_state_check check (state in ('open', 'committed', 'aborted')),
  -- The row that was copied last.
  progress json,
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create index transfers_ended_at_idx on memory.transfers (ended_at);

alter table memory.transfers enable row level security;
alter table memory.transfers force row level security;
create policy transfers_app_select on memory.transfers for select to memory_app
  using (memory.current_tenant() in (source_tenant_id, target_tenant_id));
create policy transfers_app_insert on memory.transfers for insert to memory_app
  with check (memory.current_tenant() = source_tenant_id);
create policy transfers_app_update on memory.transfers for update to memory_app
  using (memory.current_tenant() = source_tenant_id) with check (memory.current_tenant() = source_tenant_id);
create policy transfers_system_select on memory.transfers for select to memory_system using (true);
create policy transfers_system_delete on memory.transfers for delete to memory_system
  using (ended_at < now() - interval '30 days');
grant select, insert on memory.transfers to memory_app;
grant update (state, progress, ended_at) on memory.transfers to memory_app;
grant select, delete on memory.transfers to memory_system;

-- The id that a copy has in the target: the same for each attempt, with the time of the original.
create function memory.copied_id(transfer uuid, id uuid) returns uuid language sql immutable as $$
  select (left(id::text, 14) || '7' || substr(hash, 1, 3) || '-a' || substr(hash, 4, 3) || '-' || substr(hash, 7, 12))::uuid
  from md5(transfer::text || id::text) as hash
$$;
revoke execute on function memory.copied_id(uuid, uuid) from public;
grant execute on function memory.copied_id(uuid, uuid) to memory_app;

--
-- Deletions of the data of users.
--

-- Users whose data were deleted: requests from before the deletion are refused, in case they were under way. Kept for
-- 30 days.
create table memory.deleted_users (
  tenant_id uuid not null,
  -- SHA-256 of the tenant and the user id: the id itself is deleted too.
  user_hash bytea not null constraint deleted_users_user_hash_check check (octet_length(user_hash) = 32),
  requested_at timestamptz not null,
  -- The time of the last try: a deletion that a transfer holds up is carried out in its target.
  noted_at timestamptz not null default now(),
  constraint deleted_users_pkey primary key (tenant_id, user_hash)
);
create index deleted_users_requested_at_idx on memory.deleted_users (requested_at);

alter table memory.deleted_users enable row level security;
alter table memory.deleted_users force row level security;
create policy deleted_users_app_select on memory.deleted_users for select to memory_app
  using (tenant_id = memory.current_tenant());
create policy deleted_users_app_insert on memory.deleted_users for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy deleted_users_app_update on memory.deleted_users for update to memory_app
  using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
create policy deleted_users_app_delete on memory.deleted_users for delete to memory_app
  using (tenant_id = memory.current_tenant());
grant select, insert, delete on memory.deleted_users to memory_app;
grant update (requested_at, noted_at) on memory.deleted_users to memory_app;

--
-- Administrative changes.
--

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
  -- The end of the claim or, with a response, of its replay.
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

-- Changes of memories that are not yet published to the audit log.
create table memory.audit_outbox (
  id bigint generated always as identity constraint audit_outbox_pkey primary key,
  partition integer not null,
  tenant_id uuid,
  -- The time of the entry, and of everything that its transaction wrote.
  occurred_at timestamptz not null default now(),
  -- The entry without its time.
  entry json not null
);
-- For reading the oldest entries of a partition, however many entries other partitions have.
create index audit_outbox_partition_idx on memory.audit_outbox (partition, id);

alter table memory.audit_outbox enable row level security;
alter table memory.audit_outbox force row level security;
create policy audit_outbox_app_insert on memory.audit_outbox for insert to memory_app
  with check (tenant_id = memory.current_tenant());
create policy audit_outbox_system_select on memory.audit_outbox for select to memory_system using (true);
create policy audit_outbox_system_delete on memory.audit_outbox for delete to memory_system using (true);
grant insert on memory.audit_outbox to memory_app;
grant select, delete on memory.audit_outbox to memory_system;

-- Changes that could not be published, with the reason. Kept for 30 days, at most 1,000.
create table memory.audit_outbox_dead_letters (
  id bigint generated always as identity constraint audit_outbox_dead_letters_pkey primary key,
  tenant_id uuid,
  dead_at timestamptz not null default now(),
  reason text not null,
  -- The row as JSON, cut to two million characters.
  entry text not null
);

alter table memory.audit_outbox_dead_letters enable row level security;
alter table memory.audit_outbox_dead_letters force row level security;
create policy audit_outbox_dead_letters_system_select on memory.audit_outbox_dead_letters
  for select to memory_system using (true);
create policy audit_outbox_dead_letters_system_insert on memory.audit_outbox_dead_letters
  for insert to memory_system with check (true);
create policy audit_outbox_dead_letters_system_delete on memory.audit_outbox_dead_letters
  for delete to memory_system using (true);
grant select, insert, delete on memory.audit_outbox_dead_letters to memory_system;
