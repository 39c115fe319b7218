import type { Queryable } from '@gatehouse/pg/pool';
import type { Horizon } from '../domain/transaction-age.ts';

/** Below `oldest`, `follow` may show what changed. Any role may ask; no table is read. */
export async function readHorizon(db: Queryable): Promise<Horizon> {
  const { rows } = await db.query<{ oldest: string; next: string }>({
    name: 'horizon',
    text: `select pg_snapshot_xmin(snapshot)::text as oldest, pg_snapshot_xmax(snapshot)::text as next
           from pg_current_snapshot() as snapshot`,
  });
  const [row = { oldest: '0', next: '0' }] = rows;
  return { oldest: BigInt(row.oldest), next: BigInt(row.next) };
}
