-- Requests of a batch whose cost only the provider knows: those with attachments, or with the provider's own tools.
alter table chat.batches add column unmeasured integer not null default 0;
