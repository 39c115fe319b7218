import type { ServerResponse } from 'node:http';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { leaving } from './app.ts';

const retryAfterMs = 5_000;
const queueing = { perKey: 1, maxWaiting: 4, longestWait: { ms: 7_000, error: allBusy } };

/**
 * Exports of one kind a replica sends at the same time, one of them of a tenant: each lasts as long as its client
 * reads. Four more of a tenant wait up to 7 s, then they get 503; further ones get 429.
 */
export class ExportTurns {
  readonly #queue: FairQueue;

  constructor(slots: number) {
    this.#queue = new FairQueue({ ...queueing, slots });
  }

  /** Calls `send` when the turn of the tenant (null: owners) has come. Its signal aborts when the client leaves. */
  run(
    tenantId: string | null,
    response: ServerResponse,
    send: (left: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const left = leaving(response);
    return this.#queue.run(tenantId, () => send(left), left);
  }
}

function allBusy(): AppError {
  return new AppError('service_unavailable', 'Too many exports are under way. Try again in 5 s.', {
    retryAfterMs,
  });
}
