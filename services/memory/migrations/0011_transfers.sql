-- Transfers of agents between tenants.

-- Those that this service has a part in. Kept for 30 days after their end.
create table memory.transfers (
  id uuid constraint transfers_pkey primary key,
  source_tenant_id uuid not null,
  target_tenant_id uuid not null,
  state text not null default 'open'
    constraint transfers_state_check check (state in ('open', 'committed', 'aborted')),
  -- What was copied last.
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

-- The transfer that keeps the memory of an agent as it is.
alter table memory.agents add column locked_by uuid;
grant update (locked_by) on memory.agents to memory_app;

-- When a deletion was last tried: one that a transfer holds up is carried out in its target.
alter table memory.deleted_users add column noted_at timestamptz not null default now();
grant update (noted_at) on memory.deleted_users to memory_app;

-- What moves keeps its ids, and is in both tenants for a while.
alter table memory.chunks drop constraint chunks_document_id_fkey;
alter table memory.documents
  drop constraint documents_pkey,
  add constraint documents_pkey primary key (id, tenant_id);
alter table memory.chunks add constraint chunks_document_id_fkey
  foreign key (document_id, tenant_id) references memory.documents (id, tenant_id);
alter table memory.relations
  drop constraint relations_source_id_fkey,
  drop constraint relations_target_id_fkey,
  drop constraint relations_pkey,
  add constraint relations_pkey primary key (id, tenant_id);
alter table memory.entities
  drop constraint entities_pkey,
  add constraint entities_pkey primary key (id, tenant_id);
alter table memory.relations
  add constraint relations_source_id_fkey
    foreign key (source_id, tenant_id) references memory.entities (id, tenant_id),
  add constraint relations_target_id_fkey
    foreign key (target_id, tenant_id) references memory.entities (id, tenant_id);

-- The id that a copy has in the target: the same for each attempt, with the time of the original.
create function memory.copied_id(transfer uuid, id uuid) returns uuid language sql immutable as $$
  select (left(id::text, 14) || '7' || substr(hash, 1, 3) || '-a' || substr(hash, 4, 3) || '-' || substr(hash, 7, 12))::uuid
  from md5(transfer::text || id::text) as hash
$$;
revoke execute on function memory.copied_id(uuid, uuid) from public;
grant execute on function memory.copied_id(uuid, uuid) to memory_app;
