import type { Logger } from '@gatehouse/kit/log';
import { readConnectionLimit } from '@gatehouse/pg/connection-limit';
import type { Queryable } from '@gatehouse/pg/pool';
import type { ConnectionCount } from './connection-count.ts';

/**
 * Throws if the server never allows a process all of its connections: it would work until it is busy. Warns if the
 * currently open connections leave too few. Looks once for each server. `db` is a connection to the server of `url`.
 */
export async function checkConnections(
  count: ConnectionCount,
  { db, url, log }: { db: Queryable; url: string; log: Logger },
): Promise<void> {
  if (!count.begin(url)) return;
  const most = count.countOf(url);
  const { allowed, open } = await readConnectionLimit(db);
  if (most > allowed)
    throw new Error(
      `this process opens up to ${most} connections to PostgreSQL, which allows ${allowed}: raise max_connections, or lower DATABASE_POOL`,
    );
  if (open + most > allowed)
    log.warn(
      { most, open, allowed },
      'PostgreSQL may run out of connections: raise max_connections, or lower DATABASE_POOL',
    );
}
