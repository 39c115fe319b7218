-- Vectors for pgvector, if the database has that extension in version 0.8 or later (ADR 30). A trigger stores them, so
-- every replica of every release keeps them right, and no writer needs to know about them. Jobs copy the vectors that
-- were stored before.
do $$
declare
  vectors text;
begin
  select n.nspname into vectors
  from pg_catalog.pg_extension as e join pg_catalog.pg_namespace as n on n.oid = e.extnamespace
  where e.extname = 'vector'
    and string_to_array(substring(e.extversion from '^\d+\.\d+'), '.')::integer[] >= '{0,8}';
  if vectors is null then
    return;
  end if;
  if not has_schema_privilege('memory_app', vectors, 'usage') then
    raise warning 'pgvector is not used: memory_app needs the right USAGE on the schema %', vectors;
    return;
  end if;

  -- Converts 32-bit floats, little-endian. The lowest byte is left out: halfvec has fewer bits. A vector that was not of
  -- length 1 must not fail here, so that no writer does. The concatenation reads a vector that is stored out of line once;
  -- without it get_byte reads it each time, which took 25 ms for 1,536 components instead of 0.7.
  execute format($function$
    create or replace function memory.half_vector_of(packed bytea) returns %1$I.halfvec
    language sql immutable strict parallel safe
    return array(
      select case when high > 127 then -1 else 1 end
             * least(1, ((middle & 127 | 128) * 256 + low) * power(2::float8, (high & 127) * 2 + (middle >> 7) - 142))
      from (select packed || ''::bytea as whole offset 0) as read,
           generate_series(1, octet_length(packed) - 3, 4) as at,
           lateral (
             select get_byte(whole, at + 2) as high, get_byte(whole, at + 1) as middle, get_byte(whole, at) as low
           ) as bytes
    )::%1$I.halfvec
  $function$, vectors);
  create or replace function memory.store_half_vector() returns trigger language plpgsql as $function$
  begin
    -- The largest halfvec has 16,000 components.
    if octet_length(new.vector) between 4 and 64000 then
      insert into memory.half_vectors (tenant_id, scope_id, number, model, vector)
      values (new.tenant_id, new.scope_id, new.number, new.model, memory.half_vector_of(new.vector))
      on conflict (tenant_id, scope_id, number) do update set model = excluded.model, vector = excluded.vector;
    else
      delete from memory.half_vectors
      where tenant_id = new.tenant_id and scope_id = new.scope_id and number = new.number;
    end if;
    return null;
  end
  $function$;
  revoke execute on function memory.half_vector_of(bytea), memory.store_half_vector() from public;
  grant execute on function memory.half_vector_of(bytea), memory.store_half_vector() to memory_app;

  if exists (
    select from pg_catalog.pg_attribute
    where attrelid = to_regclass('memory.half_vectors') and attname = 'vector' and not attisdropped
  ) then
    return;
  end if;

  -- False for agents whose vectors were stored before, until they are copied. The owner may not be able to update rows;
  -- a default needs no such right.
  alter table memory.agents drop column if exists half_vectors_complete;
  alter table memory.agents add column half_vectors_complete boolean not null default false;
  alter table memory.agents alter column half_vectors_complete set default true;
  grant update (half_vectors_complete) on memory.agents to memory_app;

  -- A table that an earlier installation of the extension left has no column for vectors.
  drop table if exists memory.half_vectors;
  execute format('
    create table memory.half_vectors (
      tenant_id uuid not null,
      scope_id bigint not null,
      number integer not null,
      model text not null,
      vector %I.halfvec not null,
      constraint half_vectors_pkey primary key (tenant_id, scope_id, number),
      constraint half_vectors_embedding_fkey foreign key (tenant_id, scope_id, number)
        references memory.embeddings on delete cascade
    )', vectors);
  -- A scan reads vectors of up to 4,000 components without a detour.
  alter table memory.half_vectors alter vector set storage main;
  alter table memory.half_vectors enable row level security;
  alter table memory.half_vectors force row level security;
  create policy half_vectors_app_select on memory.half_vectors for select to memory_app
    using (tenant_id = memory.current_tenant());
  create policy half_vectors_app_insert on memory.half_vectors for insert to memory_app
    with check (tenant_id = memory.current_tenant());
  create policy half_vectors_app_update on memory.half_vectors for update to memory_app
    using (tenant_id = memory.current_tenant()) with check (tenant_id = memory.current_tenant());
  create policy half_vectors_app_delete on memory.half_vectors for delete to memory_app
    using (tenant_id = memory.current_tenant());
  grant select, insert, delete on memory.half_vectors to memory_app;
  grant update (model, vector) on memory.half_vectors to memory_app;

  create or replace trigger embeddings_half_vector after insert or update of model, vector on memory.embeddings
    for each row execute function memory.store_half_vector();
  -- Dropped with the extension, so that writers still work then.
  alter trigger embeddings_half_vector on memory.embeddings depends on extension vector;
end
$$;
