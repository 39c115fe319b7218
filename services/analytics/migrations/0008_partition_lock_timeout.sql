-- A backup that reads traces for hours keeps a partition from being made. Whoever reads or writes traces meanwhile waits
-- behind the attempt, so it gives up after half a second and is repeated later.
alter function analytics.ensure_partition(date) set lock_timeout = '500ms';
