-- Bytes of everything that the tenant has given count towards its limit. A document also has `bytes`, those of its text;
-- `extra` are the others, so that the sum stays right when a replica of an earlier release replaces the text and its
-- `bytes` only. `size` is all that an entity or relation counts. Null, which counts as 0, in rows of earlier releases.
alter table memory.documents add column extra integer;
alter table memory.entities add column size integer;
alter table memory.relations add column size integer;
-- Replicas of earlier releases move a document between scopes without its extra bytes.
alter table memory.scopes drop constraint scopes_bytes_check;
grant update (extra) on memory.documents to memory_app;
grant update (size) on memory.entities, memory.relations to memory_app;
