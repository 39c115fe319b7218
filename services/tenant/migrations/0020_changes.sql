-- Changes of keys and tenants that other services keep in memory. They ask several times a second for those since they
-- last asked (ADR 9).

create table tenant.changes (
  -- The transaction of the change: a snapshot says which ones it contains, in whatever order they commit.
  xid xid8 not null default pg_current_xact_id(),
  at timestamptz not null default clock_timestamp(),
  -- Null for a key of an owner.
  tenant_id uuid,
  -- The public part of the text of the changed key; null for the tenant itself, its own keys for providers and the limits of its keys.
  key_id text,
  constraint changes_subject_check check (tenant_id is not null or key_id is not null)
);
create index changes_xid_idx on tenant.changes (xid);
-- For the deletion of old ones.
create index changes_at_idx on tenant.changes (at);

alter table tenant.changes enable row level security;
alter table tenant.changes force row level security;
create policy changes_app_insert on tenant.changes for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy changes_system_select on tenant.changes for select to tenant_system using (true);
create policy changes_system_insert on tenant.changes for insert to tenant_system with check (true);
create policy changes_system_delete on tenant.changes for delete to tenant_system using (true);
grant insert on tenant.changes to tenant_app;
grant select, insert, delete on tenant.changes to tenant_system;

create function tenant.add_key_change() returns trigger language plpgsql as $$
begin
  insert into tenant.changes (tenant_id, key_id) values (old.tenant_id, old.key_id);
  return null;
end;
$$;
create function tenant.add_tenant_change() returns trigger language plpgsql as $$
begin
  insert into tenant.changes (tenant_id) values (new.id);
  return null;
end;
$$;
-- For a row of a tenant that is part of its settings.
create function tenant.add_settings_change() returns trigger language plpgsql as $$
begin
  insert into tenant.changes (tenant_id) values (coalesce(new.tenant_id, old.tenant_id));
  return null;
end;
$$;
revoke execute on function tenant.add_key_change() from public;
revoke execute on function tenant.add_tenant_change() from public;
revoke execute on function tenant.add_settings_change() from public;

create trigger api_keys_changed
  after update of tenant_id, secret_sha256, previous_secret_sha256, previous_valid_until, role, scopes, user_id,
    expires_at, revoked_at, confirmed_by on tenant.api_keys
  for each row
  when ((new.tenant_id, new.secret_sha256, new.previous_secret_sha256, new.previous_valid_until, new.role, new.scopes,
    new.user_id, new.expires_at, new.revoked_at, new.confirmed_by) is distinct from (old.tenant_id, old.secret_sha256,
    old.previous_secret_sha256, old.previous_valid_until, old.role, old.scopes, old.user_id, old.expires_at,
    old.revoked_at, old.confirmed_by))
  execute function tenant.add_key_change();
create trigger api_keys_deleted after delete on tenant.api_keys
  for each row execute function tenant.add_key_change();
-- Settings say whether any key of the tenant has limits.
create trigger api_keys_limited after insert on tenant.api_keys
  for each row when (new.tenant_id is not null and (new.limits is not null or new.budget is not null))
  execute function tenant.add_settings_change();
create trigger tenants_changed after update on tenant.tenants
  for each row execute function tenant.add_tenant_change();
create trigger provider_keys_changed after insert or delete or update of provider, key, models, user_id
  on tenant.provider_keys
  for each row execute function tenant.add_settings_change();
