-- The oldest entries of a partition, however many wait in others.
create index audit_outbox_partition_idx on tenant.audit_outbox (partition, id);
