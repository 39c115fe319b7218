-- Returns the zone, or UTC if PostgreSQL does not have it: an update of the time zone data may remove a stored name.
create function tenant.timezone_or_utc(zone text) returns text language plpgsql stable as $$
begin
  perform now() at time zone zone;
  return zone;
exception when invalid_parameter_value then
  return 'UTC';
end
$$;
