-- The data keys of provider keys and of tokens of logins are wrapped again by the first key of the ring.
-- How a value begins: the version, and the id of the key that has wrapped its data key. Null for none.
create function tenant.sealed_by(sealed bytea) returns bytea language sql immutable parallel safe
return case when octet_length(sealed) > 2 then substring(sealed from 1 for 2 + get_byte(sealed, 1)) end;

-- Few keys have values: an index has one entry for each list of them.
create index provider_keys_key_sealed_by_idx on tenant.provider_keys (tenant.sealed_by(key));
create index logins_id_token_sealed_by_idx on tenant.logins (tenant.sealed_by(id_token));
create index logins_refresh_token_sealed_by_idx on tenant.logins (tenant.sealed_by(refresh_token)) where refresh_token is not null;
