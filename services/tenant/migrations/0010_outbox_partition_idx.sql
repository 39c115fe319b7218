-- For reading the oldest entries of a partition, however many entries other partitions have.
create index audit_outbox_partition_idx on tenant.audit_outbox (partition, id);
