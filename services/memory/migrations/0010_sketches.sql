-- A search reads the sketches of all its passages. A row has the vector as well: 30 times as much to read.
create index embeddings_sketches on memory.embeddings (tenant_id, scope_id, model) include (number, sketch)
  -- An index row has 2,700 bytes at most. No model has as many components.
  where bit_length(sketch) <= 16000;
-- An index is read alone where the table's pages are known to have no newer rows.
alter table memory.embeddings set (autovacuum_vacuum_insert_scale_factor = 0.02);
