import { plainArray } from '@gatehouse/pg/arrays';
import type { Pool } from '@gatehouse/pg/pool';
import { forgottenAfter } from '../shared/forgotten-user-store.ts';
import type { WrittenLate } from './logged-run.ts';

/** Users with deleted data, for runs written later than they began. */

interface Forgettable {
  id: string;
  /** Empty for a run without a user. */
  late: readonly WrittenLate[];
  forget(): void;
}

/** Takes the users and the texts from runs with users forgotten since they began. */
export async function forgetAmong(pool: Pool, runs: readonly Forgettable[]): Promise<void> {
  const late = runs.flatMap((run) => run.late);
  if (late.length === 0) return;
  const { rows } = await pool.query<{ id: string }>({
    name: 'find_forgotten',
    text: forgottenAmong(1),
    values: lateValues(late),
  });
  const forgotten = new Set(rows.map(({ id }) => id));
  for (const run of runs) if (forgotten.has(run.id)) run.forget();
}

/** The runs of forgotten users among these; the parameters of `lateValues` begin at `first`. */
export function forgottenAmong(first: number): string {
  return `
    select r.id from unnest($${first}::uuid[], $${first + 1}::uuid[], $${first + 2}::bytea[], $${first + 3}::timestamptz[])
      as r (id, tenant_id, digest, started_at)
    where ${forgottenAfter('r.tenant_id', 'r.digest', 'r.started_at')}`;
}

export function lateValues(runs: readonly WrittenLate[]): unknown[] {
  return [
    plainArray(runs.map(({ id }) => id)),
    plainArray(runs.map(({ tenantId }) => tenantId)),
    runs.map(({ digest }) => digest),
    runs.map(({ startedAt }) => startedAt),
  ];
}
