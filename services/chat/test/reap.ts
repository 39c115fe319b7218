import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import { Reaper } from '../src/recording/reaper-job.ts';
import { pricing } from './run-rows.ts';

/** Declares the instance dead, as another replica would. `pool` acts as `chat_system`. */
export async function reap(pool: Pool, instanceId: string): Promise<void> {
  await pool.query('update chat.instances set dead_at = now() where id = $1', [instanceId]);
  const reaper = new Reaper({
    pool,
    instance: { id: newId(), steadyBeat: Date.now() },
    recorder: { openRuns: [] },
    pricing,
    alerts: { alertOfRun: () => [] },
    log: createLogger('chat', 'silent'),
    registry: createRegistry('chat-test'),
  });
  await reaper.sweep();
}
