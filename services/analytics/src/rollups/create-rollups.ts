import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { RollupJob, type RollupOptions } from './rollup-job.ts';

/** Adds runs to the roll-ups, those of a minute together. Call it before `consumeUsage`, so that it stops after that. */
export function createRollups(
  shell: Shell,
  { system: pool, ...options }: { system: Pool } & Pick<RollupOptions, 'stored' | 'everyMs'>,
): void {
  const { log, registry } = shell;
  shell.add(new RollupJob({ pool, ...options, log, registry }));
}
