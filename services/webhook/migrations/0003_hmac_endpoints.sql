-- The scheme `hmac`: a signature of the body in a header that the tenant names. Null for other schemes.
alter table webhook.endpoints
  add column header text,
  add column encoding text constraint endpoints_encoding_check check (encoding in ('hex', 'base64')),
  add column prefix text;
grant update (header, encoding, prefix) on webhook.endpoints to webhook_app;
