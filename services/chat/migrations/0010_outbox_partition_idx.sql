-- The oldest entries of a partition, however many wait in others.
create index outbox_partition_idx on chat.outbox (partition, id);
