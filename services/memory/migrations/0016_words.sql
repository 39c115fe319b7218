-- Words are found by the service, not by the parser of PostgreSQL, which depends on the locale of the database. Passages
-- that were indexed before are indexed again by a job; until then searches use the terms of both.

alter table memory.agents
  -- The oldest tokeniser of passages in the index. Agents from before this migration have the first.
  add column tokeniser smallint not null default 1;
alter table memory.agents alter column tokeniser set default 2;
grant update (tokeniser) on memory.agents to memory_app;

-- A replica of an earlier release still stores passages with the words of the first tokeniser. Names of later analysers
-- end with the number of their tokeniser.
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
create trigger chunks_first_tokeniser after insert or update of analyser on memory.chunks
  for each row when (new.analyser in ('english', 'simple')) execute function memory.note_first_tokeniser();
