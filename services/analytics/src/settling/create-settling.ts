import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { Settling, type SettlingOptions } from './settling-job.ts';

/** Sums of days that are over, so that summaries read fewer rows. */
export function createSettling(
  { log, registry }: Shell,
  { system: pool, times }: { system: Pool; times: SettlingOptions['times'] },
) {
  return { parts: [new Settling({ pool, log, registry, times })] };
}
