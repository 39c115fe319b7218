-- The API of the provider that has a batch: openai or anthropic. Anthropic's batches come with their requests: their
-- input_file_id is their own id, and their provider_file_id is empty.
alter table chat.batches add column api text not null default 'openai';
-- Encrypted: the client's name of the first request, which the provider knows by the id of the batch. Null for OpenAI's.
alter table chat.batches add column first_id bytea;
