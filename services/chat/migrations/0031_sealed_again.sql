-- Responses, files and batches live longer than a key of the ring. The data keys of their values are wrapped again by the
-- first key of the ring.
grant update (content) on chat.responses to chat_system;
grant update (first_id) on chat.batches to chat_system;

-- How a value begins: the version, and the id of the key that has wrapped its data key. Null for none.
create function chat.sealed_by(sealed bytea) returns bytea language sql immutable parallel safe
return case when octet_length(sealed) > 2 then substring(sealed from 1 for 2 + get_byte(sealed, 1)) end;

-- Few keys have values, so lists of one key's are short when they are read.
create index responses_sealed_by_idx on chat.responses (chat.sealed_by(content), id);
create index files_sealed_by_idx on chat.files (chat.sealed_by(content), id);
create index batches_sealed_by_idx on chat.batches (chat.sealed_by(content), id);
create index batches_first_id_sealed_by_idx on chat.batches (chat.sealed_by(first_id), id) where first_id is not null;
