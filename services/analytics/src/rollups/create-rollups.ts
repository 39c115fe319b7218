import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { Folding, type FoldingOptions } from './rollup-job.ts';

/** Adds runs to the roll-ups, those of a minute together. Call it before `createIngest`, so that it stops after that. */
export function createFolding(
  shell: Shell,
  { system: pool, ...options }: { system: Pool } & Pick<FoldingOptions, 'stored' | 'everyMs'>,
): void {
  const { log, registry } = shell;
  shell.add(new Folding({ pool, ...options, log, registry }));
}
