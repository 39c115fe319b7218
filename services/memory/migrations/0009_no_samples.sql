-- PostgreSQL keeps samples of each column in its statistics, also of rows that were deleted since. No query plan needs
-- those of texts: everything is found by an index.
alter table memory.scopes alter user_id set statistics 0;
alter table memory.documents
  alter path set statistics 0,
  alter title set statistics 0,
  alter metadata set statistics 0,
  alter session_id set statistics 0,
  alter text set statistics 0;
alter table memory.chunks
  alter context set statistics 0,
  alter text set statistics 0,
  alter terms set statistics 0;
alter table memory.graphs alter user_id set statistics 0;
alter table memory.entities
  alter external_id set statistics 0,
  alter name set statistics 0,
  alter type set statistics 0,
  alter name_key set statistics 0,
  alter type_key set statistics 0,
  alter description set statistics 0,
  alter properties set statistics 0;
alter table memory.relations
  alter type set statistics 0,
  alter properties set statistics 0;
