-- JSON: the prices at which a batch was started. Null where its model had none, and for batches of the release before.
alter table chat.batches add column price text;
