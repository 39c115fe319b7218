-- A deletion of a user's data removes what requests before it have written, and nothing that the user does after it.

-- When the request began that writes, if its transaction has said so.
create function memory.acted_at() returns timestamptz language sql stable parallel safe
return coalesce(nullif(current_setting('gatehouse.acted_at', true), '')::timestamptz, now());

-- The time of the request that has written the row, of the first one where later ones have changed it; null before this
-- column, and then any deletion removes the row.
alter table memory.documents add column acted_at timestamptz;
alter table memory.documents alter column acted_at set default memory.acted_at();
alter table memory.entities add column acted_at timestamptz;
alter table memory.entities alter column acted_at set default memory.acted_at();
alter table memory.relations add column acted_at timestamptz;
alter table memory.relations alter column acted_at set default memory.acted_at();
grant update (acted_at) on memory.documents to memory_app;
