import type { Queryable } from './pool.ts';

export interface ConnectionLimit {
  /** Connections for logins without superuser rights at the server. */
  allowed: number;
  /** Open connections at the moment, of all clients. */
  open: number;
}

/** Reads how many connections the server allows. Needs no privileges. */
export async function readConnectionLimit(db: Queryable): Promise<ConnectionLimit> {
  const { rows } = await db.query<ConnectionLimit>(
    `select current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
              - coalesce(current_setting('reserved_connections', true)::integer, 0) as allowed,
            (select sum(numbackends)::integer from pg_stat_database) as open`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the database returned no limit of connections');
  return row;
}
