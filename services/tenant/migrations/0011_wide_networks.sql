-- The wider network of a program that waits for a person, so that one with many small networks can't take all places.
alter table tenant.device_logins add column wide_network text;
create index device_logins_wide_network_idx on tenant.device_logins (wide_network) where decided_at is null;
