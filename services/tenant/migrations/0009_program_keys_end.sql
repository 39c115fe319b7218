-- Keys of programs end with the key whose session confirmed them, whichever release ends that one: replicas of the one
-- before revoke and rotate a key alone.
create function tenant.end_program_keys() returns trigger language plpgsql as $$
begin
  update tenant.api_keys as program set
    revoked_at = case when new.revoked_at is not null then now() end,
    expires_at = case
      when program.confirmed_secret_sha256 = new.secret_sha256 then program.expires_at
      when program.confirmed_secret_sha256 = new.previous_secret_sha256
        then least(program.expires_at, new.previous_valid_until)
      else least(program.expires_at, now())
    end
  where program.confirmed_by = new.id and program.revoked_at is null
    and (new.revoked_at is not null or program.expires_at > now());
  return null;
end;
$$;
revoke execute on function tenant.end_program_keys() from public;
create trigger api_keys_end_programs
  after update of revoked_at, secret_sha256, previous_secret_sha256, previous_valid_until on tenant.api_keys
  for each row
  when (new.confirmed_by is null and (new.revoked_at, new.secret_sha256, new.previous_secret_sha256,
    new.previous_valid_until) is distinct from (old.revoked_at, old.secret_sha256, old.previous_secret_sha256,
    old.previous_valid_until))
  execute function tenant.end_program_keys();
