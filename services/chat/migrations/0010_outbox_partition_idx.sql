-- For reading the oldest entries of a partition, however many entries other partitions have.
create index outbox_partition_idx on chat.outbox (partition, id);
