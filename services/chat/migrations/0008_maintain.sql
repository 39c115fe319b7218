-- Rows of these tables live for seconds. Chat vacuums the tables itself, because autovacuum runs once a minute, when
-- dead rows of a busy minute far outnumber live ones. PostgreSQL before 17 has no MAINTAIN privilege, so there only
-- autovacuum runs.
do $$
begin
  if current_setting('server_version_num')::integer >= 170000 then
    grant maintain on chat.open_runs, chat.outbox to chat_system;
  end if;
end
$$;
