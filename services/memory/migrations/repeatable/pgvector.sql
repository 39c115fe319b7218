-- Vectors for pgvector, if the database has that extension in version 0.8 or later (ADR 30). A trigger fills them, so
-- every replica of every release keeps them right, and no writer needs to know about them. What was stored before is
-- copied by jobs.
do $$
declare
  vectors text;
begin
  select n.nspname into vectors
  from pg_catalog.pg_extension as e join pg_catalog.pg_namespace as n on n.oid = e.extnamespace
  where e.extname = 'vector' and string_to_array(substring(e.extversion from '^\d+\.\d+'), '.')::integer[] >= '{0,8}';
  if vectors is null then
    return;
  end if;
  if not has_schema_privilege('memory_app', vectors, 'usage') then
    raise warning 'pgvector is not used: memory_app needs the right USAGE on the schema %', vectors;
    return;
  end if;

  -- Converts 32-bit floats, little-endian. The lowest byte is left out: halfvec has fewer bits. A vector that was not of
  -- length 1 must not fail here, so that no writer does.
  execute format($function$
    create or replace function memory.half_vector_of(packed bytea) returns %1$I.halfvec
    language sql immutable strict parallel safe
    return array(
      select case when high > 127 then -1 else 1 end
             * least(1, ((middle & 127 | 128) * 256 + low) * power(2::float8, (high & 127) * 2 + (middle >> 7) - 142))
      from generate_series(1, octet_length(packed) - 3, 4) as at,
           lateral (
             select get_byte(packed, at + 2) as high, get_byte(packed, at + 1) as middle, get_byte(packed, at) as low
           ) as bytes
    )::%1$I.halfvec
  $function$, vectors);
  create or replace function memory.fill_half_vector() returns trigger language plpgsql as $function$
  begin
    -- The most components that the type takes is 16,000.
    new.half_vector := case when octet_length(new.vector) <= 64000 then memory.half_vector_of(new.vector) end;
    return new;
  end
  $function$;
  revoke execute on function memory.half_vector_of(bytea), memory.fill_half_vector() from public;
  grant execute on function memory.half_vector_of(bytea), memory.fill_half_vector() to memory_app;

  if exists (
    select from pg_catalog.pg_attribute
    where attrelid = 'memory.embeddings'::regclass and attname = 'half_vector' and not attisdropped
  ) then
    return;
  end if;
  -- False for agents whose vectors were stored before, until they are copied. The owner may not be able to update rows,
  -- which a default needs not.
  alter table memory.agents drop column if exists half_vectors_complete;
  alter table memory.agents add column half_vectors_complete boolean not null default false;
  alter table memory.agents alter column half_vectors_complete set default true;
  grant update (half_vectors_complete) on memory.agents to memory_app;
  execute format('alter table memory.embeddings add column half_vector %I.halfvec', vectors);
  -- A scan reads it without a detour.
  alter table memory.embeddings alter half_vector set storage main;
  -- It names the column, so that it is dropped with the extension.
  create trigger embeddings_half_vector before insert or update of vector, half_vector on memory.embeddings
    for each row execute function memory.fill_half_vector();
end
$$;
