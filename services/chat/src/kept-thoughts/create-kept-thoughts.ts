import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Shell } from '@gatehouse/shell/shell';
import { KeptRowsCleaning } from '../shared/kept-rows-job.ts';
import { KeptThoughts } from './kept-thought-store.ts';

const mostOfTenant = { count: 200_000, bytes: 1024 * 1024 * 1024 };

/** Thoughts of models between two requests of clients that have no place for them. */
export function createKeptThoughts({ log }: Shell, { pool, keyRing }: { pool: Pool; keyRing: KeyRing }) {
  return {
    thoughts: new KeptThoughts({ pool, keyRing, log }),
    parts: [new KeptRowsCleaning({ pool, log, table: 'chat.thoughts', most: mostOfTenant })],
  };
}
