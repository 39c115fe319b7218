-- For the number of revocations that wait for a person, and their search among logins.
create index token_revocations_person_idx on tenant.token_revocations (iss, sub);
