-- Runs and attempts are temporary: analytics stores the published events, so the rows are deleted some days after
-- publication.

-- The smallest UUIDv7 of a time (RFC 9562 §5.7).
create function chat.first_id_at(at timestamptz) returns uuid language sql immutable strict as $$
  select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Attempts are deleted with their run by the foreign key, which acts as the table owner and needs no policy.
create policy runs_system_delete on chat.runs for delete to chat_system using (true);
grant delete on chat.runs to chat_system;
