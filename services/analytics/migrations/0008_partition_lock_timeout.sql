-- A backup that reads traces for hours blocks the creation of partitions. Other queries on traces queue behind the
-- attempt, so it times out after 500 ms and is retried later.
alter function analytics.ensure_partition(date) set lock_timeout = '500ms';
