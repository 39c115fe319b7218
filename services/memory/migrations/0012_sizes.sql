-- What a row counts towards the limit of its tenant's bytes: everything that the tenant has given. Null in rows of
-- releases before, of which a document counts its text, and an entity or relation nothing.
alter table memory.documents add column size integer;
alter table memory.entities add column size integer;
alter table memory.relations add column size integer;
grant update (size) on memory.documents, memory.entities, memory.relations to memory_app;
