-- Users whose data were deleted. Runs that began before the deletion lose their texts, and a random pseudonym replaces
-- the user. Kept for 30 days, for events that come late: those get no user.
create table analytics.forgotten_users (
  tenant_id uuid not null,
  -- SHA-256 of tenant and user: this table is no list of the users who left.
  user_digest bytea not null,
  requested_at timestamptz not null,
  -- When this service first heard of it.
  created_at timestamptz not null default now(),
  -- Null once all stored runs have it, so that nothing links it to the user.
  pseudonym text,
  -- Progress: when the current pass through the traces began, and the last trace that it read.
  pass_began_at timestamptz,
  last_trace uuid not null default '00000000-0000-0000-0000-000000000000',
  -- Progress: the roll-ups before this time are done; null until the traces are.
  usage_until timestamptz,
  constraint forgotten_users_pkey primary key (tenant_id, user_digest)
);
create index forgotten_users_created_at_idx on analytics.forgotten_users (created_at);

alter table analytics.forgotten_users enable row level security;
alter table analytics.forgotten_users force row level security;
create policy forgotten_users_system_select on analytics.forgotten_users for select to analytics_system using (true);
create policy forgotten_users_system_insert on analytics.forgotten_users for insert to analytics_system
  with check (true);
create policy forgotten_users_system_update on analytics.forgotten_users for update to analytics_system
  using (true) with check (true);
create policy forgotten_users_system_delete on analytics.forgotten_users for delete to analytics_system using (true);
grant select, insert, update, delete on analytics.forgotten_users to analytics_system;

create policy users_system_update on analytics.users for update to analytics_system using (true) with check (true);
grant update (user_id) on analytics.users to analytics_system;
create policy unpriced_models_system_update on analytics.unpriced_models for update to analytics_system
  using (true) with check (true);
grant update (user_id) on analytics.unpriced_models to analytics_system;

-- No role of the service reads the content of dead letters. This function does, as the owner of the table.
do $$
begin
  execute format('create policy dead_letters_owner_select on analytics.dead_letters for select to %I using (true)', current_user);
  execute format('create policy dead_letters_owner_delete on analytics.dead_letters for delete to %I using (true)', current_user);
end
$$;

-- Deletes up to `most` dead letters that contain all of these texts, and returns how many.
create function analytics.delete_dead_letters_with(texts text[], most integer) returns bigint language sql
  security definer set search_path = analytics, pg_temp as $$
  with deleted as (
    delete from dead_letters where id in (
      select id from dead_letters
      where (select bool_and(position(convert_to(wanted, 'UTF8') in payload) > 0) from unnest(texts) as wanted)
      limit most)
    returning id
  )
  select count(*) from deleted
$$;
revoke execute on function analytics.delete_dead_letters_with(text[], integer) from public;
grant execute on function analytics.delete_dead_letters_with(text[], integer) to analytics_system;
