/**
 * A table for queries: locks that sessions of this database wait for. `pg_locks` has those of all databases, and
 * relations of databases that were copied from one template have the same ids. `pg_stat_activity` would show a
 * transaction no sessions that began after its first look.
 */
export const lockWaits = `(
  select waiting.* from pg_locks as waiting where not granted and exists (
    select from pg_locks as lock join pg_database on pg_database.oid = lock.database
    where lock.pid = waiting.pid and datname = current_database())) as waits`;
