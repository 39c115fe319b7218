-- Whether the content of runs is stored: messages, calls of tools, passages and parameters. Counts with previews alone.
alter table tenant.tenants add column content_full boolean not null default false;
grant update (content_full) on tenant.tenants to tenant_app;
grant update (content_full) on tenant.tenants to tenant_system;

-- Without previews no content is stored. A replica of the release before changes previews alone: once it enables them
-- again, the tenant stores previews.
create function tenant.clear_content_full() returns trigger language plpgsql as $$
begin
  new.content_full := false;
  return new;
end
$$;
revoke execute on function tenant.clear_content_full() from public;
grant execute on function tenant.clear_content_full() to tenant_app, tenant_system;
create trigger tenants_clear_content_full before update of previews_enabled on tenant.tenants
  for each row when (not new.previews_enabled and new.content_full) execute function tenant.clear_content_full();
