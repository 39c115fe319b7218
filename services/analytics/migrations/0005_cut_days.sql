-- Rows of settled days that don't cross a midnight of the tenant's time zone, for groups by its days and months; and rows
-- by session.

alter table analytics.settled_days
  -- That midnight; null if it is none within the day. Rows of all kinds but `hour` end there.
  add column cut timestamptz,
  -- The hours that were added up with rows that end at `cut`, and with rows by session. The release before adds up hours
  -- without: then these are fewer than `hours`, and neither counts.
  add column cut_hours smallint not null default 0;

alter table analytics.settled_usage
  -- The kind `session` has it, and the user.
  add column session_id text,
  drop constraint settled_usage_kind_check,
  add constraint settled_usage_kind_check check (kind in ('hour', 'agent', 'api_key', 'user', 'session')) not valid;

create or replace function analytics.change_day() returns trigger language plpgsql as $$
begin
  insert into analytics.settled_days as known (tenant_id, day)
  values (new.tenant_id, date_bin('1 day', new.bucket, 'epoch'))
  on conflict (tenant_id, day) do update set state = 'changed', hours = 0, cut_hours = 0 where known.state <> 'changed';
  return null;
end
$$;
