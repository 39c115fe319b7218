import { AppError } from '@gatehouse/kit/errors';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import { withTransaction } from '@gatehouse/pg/pool';
import type { Jobs } from './jobs.ts';
import { changedIds, inTransaction } from './library.ts';
import { mergeWaiting, releaseClaim, type Claim } from './store/job-system-store.ts';
import type { Tasks } from './task.ts';

/** Outcomes of a failed attempt. `lost`: another attempt has begun, or the job is gone. */
export type Failed = 'retry' | 'dead' | 'lost';

/** Deletes a finished job. Returns false if the attempt no longer holds it. */
export async function finish({ boss }: Jobs<Tasks>, claim: Claim): Promise<boolean> {
  return changedIds(await boss.deleteJob(claim.task, attemptOf(claim))).length === 1;
}

/**
 * Ends an attempt as failed: the job runs again after `delayS`, or is moved to the dead jobs. Only the error's code is
 * stored, because a message may contain content.
 */
export function fail(
  { boss, system, schema }: Jobs<Tasks>,
  claim: Claim,
  { error, delayS }: { error: unknown; delayS: number },
): Promise<Failed> {
  const { task, id, retryCount, retryLimit } = claim;
  return withTransaction(system, async (client) => {
    const db = inTransaction(client);
    const ended = await boss.fail(task, attemptOf(claim), { code: codeOf(error) }, { db });
    if (changedIds(ended).length === 0) return 'lost';
    if (retryCount < retryLimit) {
      await boss.update(task, undefined, { id, startAfter: delayS, db });
      await mergeWaiting(client, schema, claim);
      return 'retry';
    }
    // The library has copied it to the queue of dead jobs. The original would block its queue, if tasks are in order.
    await boss.deleteJob(task, id, { db });
    return 'dead';
  });
}

/** Returns a job to the queue; the attempt does not count. */
export async function release({ boss, system, schema }: Jobs<Tasks>, claim: Claim): Promise<void> {
  try {
    await releaseClaim(system, schema, claim);
  } catch (error) {
    // A newer job with its key waits, and will do its work.
    if (!isUniqueViolation(error, 'job_common_i1') && !isUniqueViolation(error, 'job_common_i13'))
      throw error;
    await boss.deleteJob(claim.task, attemptOf(claim));
  }
}

export function attemptOf({ id, retryCount }: Claim): { id: string; retryCount: number } {
  return { id, retryCount };
}

const longestCode = 60;

function codeOf(error: unknown): string {
  if (error instanceof AppError) return error.code;
  const { name } = Object(error) as { name?: unknown };
  return typeof name === 'string' ? name.slice(0, longestCode) : 'unknown';
}
