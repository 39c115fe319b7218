-- Rows of these tables live for seconds. Chat has their space taken back itself: autovacuum comes once a minute, when
-- what a busy minute left behind is many times what is alive. Before PostgreSQL 17 there is no such right, and
-- autovacuum is what there is.
do $$
begin
  if current_setting('server_version_num')::integer >= 170000 then
    grant maintain on chat.open_runs, chat.outbox to chat_system;
  end if;
end
$$;
