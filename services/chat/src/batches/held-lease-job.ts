import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { renewLease, type LeasedBatch } from './batch-lease-system-store.ts';

export const leaseMs = 60_000;

export interface HoldingOptions {
  pool: Pool;
  log: Logger;
  /** The time between two extensions. */
  renewMs: number;
  /** Aborts when the replica stops. */
  stopping: AbortSignal;
}

/** Works on a batch whose lease is extended meanwhile. The signal of the work aborts when the lease is lost, too. */
export async function holdingLease(
  batch: Pick<LeasedBatch, 'id' | 'leaseId'>,
  { pool, log, renewMs, stopping }: HoldingOptions,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const lost = new AbortController();
  const renewing = setInterval(() => {
    renewLease(pool, batch, leaseMs).then(
      (held) => {
        if (!held) lost.abort(new Error('the lease of the batch is lost'));
      },
      (err: unknown) => log.warn({ err, batch_id: batch.id }, 'failed to renew a lease'),
    );
  }, renewMs);
  try {
    await work(AbortSignal.any([stopping, lost.signal]));
  } finally {
    clearInterval(renewing);
  }
}
