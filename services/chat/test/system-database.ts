import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { createTestDatabase } from '@gatehouse/test/database';
import type { EndedRun, StartedRun } from '../src/runs/run-record.ts';

const log = createLogger('chat', 'silent');

export interface SystemDatabase {
  url: string;
  /** With the superuser. */
  adminUrl: string;
  /** Acts as `chat_system`. */
  pool: Pool;
  drop: () => Promise<void>;
}

/** A database of its own, as the parts of chat see it that work for all tenants. */
export async function createSystemDatabase(): Promise<SystemDatabase> {
  const database = await createTestDatabase('chat');
  const pool = createPool({ url: database.url, role: 'chat_system', max: 5, log });
  const drop = async (): Promise<void> => {
    await pool.end();
    await database.drop();
  };
  return { url: database.url, adminUrl: database.adminUrl, pool, drop };
}

/** The ends of a run that wait for publication: one at most, unless something is wrong. */
export async function endsOf(pool: Pool, run: StartedRun): Promise<EndedRun[]> {
  const { rows } = await pool.query<{ data: EndedRun }>(
    'select data::json as data from chat.outbox where run_id = $1 and ended_at is not null',
    [run.run_id],
  );
  return rows.map(({ data }) => data);
}
