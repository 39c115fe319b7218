-- The zone, or UTC if PostgreSQL does not know it: an upgrade of its time zone data may remove a name that is stored.
create function tenant.timezone_or_utc(zone text) returns text language plpgsql stable as $$
begin
  perform now() at time zone zone;
  return zone;
exception when invalid_parameter_value then
  return 'UTC';
end
$$;
