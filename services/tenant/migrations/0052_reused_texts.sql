-- Reuse of a text that the key of a program had before a renewal ends the key (RFC 9700, 4.14.2).
alter table tenant.api_keys
  -- Whether the present secret was used since the last renewal: then its client has it, and needs the one before no more.
  add column secret_used boolean not null default true,
  -- Hashes of the secrets that renewals have replaced, the newest last.
  add column replaced_sha256 bytea[] not null default '{}',
  add constraint api_keys_replaced_check check (cardinality(replaced_sha256) <= 100);
grant update (secret_used, replaced_sha256) on tenant.api_keys to tenant_system;
