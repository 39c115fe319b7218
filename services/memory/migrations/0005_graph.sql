-- The knowledge graph: entities, and relations between them with the time when they are valid.

-- What belongs to an agent, or to one user of it. Writers lock the row of the agent first (users share it), then that
-- of their user, so that they can't deadlock.
create table memory.graphs (
  id bigint generated always as identity constraint graphs_pkey primary key,
  tenant_id uuid not null,
  agent_id uuid not null,
  -- '' for what belongs to the agent.
  user_id text not null,
  -- Only generation 0 is visible. Others are about to be published or deleted.
  generation bigint not null default 0,
  entities bigint not null default 0 constraint graphs_entities_check check (entities >= 0),
  relations bigint not null default 0 constraint graphs_relations_check check (relations >= 0),
  constraint graphs_use_key unique (tenant_id, agent_id, user_id, generation)
) with (fillfactor = 50);
create index graphs_user_idx on memory.graphs (tenant_id, user_id) where user_id <> '';

create table memory.entities (
  id uuid constraint entities_pkey primary key,
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
  -- The run that extracted it.
  run_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
-- No index begins with the tenant: PostgreSQL would read all rows of a tenant that its statistics do not have yet.
create unique index entities_external_id_key on memory.entities (graph_id, external_id) where external_id is not null;
create unique index entities_name_key on memory.entities (graph_id, name_key, type_key, external_id nulls first)
  nulls not distinct;
create index entities_graph_idx on memory.entities (graph_id, id);
create index entities_run_idx on memory.entities (run_id) where run_id is not null;

-- One row for each version of a relation. Versions with the same source, target and type never overlap in time.
create table memory.relations (
  id uuid constraint relations_pkey primary key,
  tenant_id uuid not null,
  -- That of its source and target, or that of a user whose relation has an entity of the agent as source or target.
  graph_id bigint not null constraint relations_graph_id_fkey references memory.graphs,
  source_id uuid not null constraint relations_source_id_fkey references memory.entities,
  target_id uuid not null constraint relations_target_id_fkey references memory.entities,
  type text collate "C" not null,
  weight double precision not null,
  properties json not null,
  valid_from timestamptz not null,
  valid_to timestamptz,
  run_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint relations_valid_check check (valid_to > valid_from)
);
create unique index relations_version_key on memory.relations (graph_id, source_id, target_id, type, valid_from);
-- The strongest relations of an entity, with everything that a traversal reads.
create index relations_source_idx on memory.relations (source_id, graph_id, weight desc, target_id)
  include (tenant_id, id, type, valid_from, valid_to);
create index relations_target_idx on memory.relations (target_id, graph_id, weight desc, source_id)
  include (tenant_id, id, type, valid_from, valid_to);
create index relations_run_idx on memory.relations (run_id) where run_id is not null;

-- Versions of relations that a tenant has; memory.tenants counts its entities too.
alter table memory.tenants add column relations bigint not null default 0;
grant update (relations) on memory.tenants to memory_app;

do $$
declare
  name text;
begin
  foreach name in array array['graphs', 'entities', 'relations'] loop
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

grant update (generation, entities, relations) on memory.graphs to memory_app;
grant update (external_id, name, type, name_key, type_key, description, properties, updated_at) on memory.entities to memory_app;
grant update (weight, properties, valid_from, valid_to, updated_at) on memory.relations to memory_app;
