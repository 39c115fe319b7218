import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { Folding, type FoldingOptions } from './folding-job.ts';

/** Adds runs to the roll-ups, those of a minute together. */
export function createFolding(
  { log, registry }: Shell,
  { system: pool, stored }: { system: Pool } & Pick<FoldingOptions, 'stored'>,
) {
  return { parts: [new Folding({ pool, stored, log, registry })] };
}
