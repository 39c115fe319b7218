-- Runs that no request with an API key began, such as embeddings of memory, have no key.
alter table analytics.traces alter column api_key_id drop not null;
alter table analytics.usage alter column api_key_id drop not null;
alter table analytics.unpriced_models alter column api_key_id drop not null;
