import { cacheKey } from '@gatehouse/kit/cache-key';
import { FairQueue, type FairQueueOptions } from '@gatehouse/kit/fair-queue';
import { EgressError } from './errors.ts';
import { maxWaiting, patienceMs } from './bounds.ts';

/** Calls at the same time: in all, to one host and port, and the parts of both for one tenant. */
export interface MaxCalls {
  all: number;
  tenant: number;
  origin: number;
  tenantAtOrigin: number;
}

const busy = (): EgressError => new EgressError('busy');

/**
 * Gives out calls. Each tenant has a share, of all and of those to one host; beyond it a call waits for one of the
 * tenant's own to end, and where all are in use, tenants take turns.
 *
 * A call takes the narrowest slot first: of its tenant at the host, of its tenant, of the host, of all. So a tenant
 * waiting for its own calls to end holds nothing needed by others.
 */
export class CallShares {
  readonly #max: MaxCalls;
  readonly #tenantAtOrigin: FairQueue;
  readonly #tenant: FairQueue;
  readonly #byOrigin = new Map<string, FairQueue>();
  readonly #all: FairQueue;
  #running = 0;

  constructor(max: MaxCalls) {
    this.#max = max;
    this.#tenantAtOrigin = queueOf({ perKey: max.tenantAtOrigin });
    this.#tenant = queueOf({ perKey: max.tenant });
    this.#all = queueOf({ perKey: max.tenant, slots: max.all });
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    let waiting = this.#tenantAtOrigin.waiting + this.#tenant.waiting + this.#all.waiting;
    for (const turns of this.#byOrigin.values()) waiting += turns.waiting;
    return waiting;
  }

  /**
   * Waits for the turn of a call of a tenant, and returns what ends it. Throws `EgressError` `busy` after two seconds, and
   * the reason of `signal`. The platform is one tenant: null.
   */
  hold(tenantId: string | null, origin: string, signal: AbortSignal): Promise<() => void> {
    const { promise: ended, resolve: end } = Promise.withResolvers<undefined>();
    const { promise: begun, resolve: begin, reject } = Promise.withResolvers<() => void>();
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(busy()), patienceMs);
    const waits = AbortSignal.any([signal, patience.signal]);
    const call = async (): Promise<void> => {
      clearTimeout(timer);
      this.#running += 1;
      begin(() => end(undefined));
      await ended;
      this.#running -= 1;
    };
    const inProcess = (): Promise<void> => this.#all.run(tenantId, call, waits);
    const atOrigin = (): Promise<void> => this.#runAt(origin, tenantId, inProcess, waits);
    const inTenant = (): Promise<void> => this.#tenant.run(tenantId, atOrigin, waits);
    this.#tenantAtOrigin
      .run(cacheKey(tenantId, origin), inTenant, waits)
      .catch(reject)
      .finally(() => clearTimeout(timer));
    return begun;
  }

  async #runAt(
    origin: string,
    tenantId: string | null,
    work: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { tenantAtOrigin: perKey, origin: slots } = this.#max;
    const turns = this.#byOrigin.get(origin) ?? queueOf({ perKey, slots });
    this.#byOrigin.set(origin, turns);
    try {
      await turns.run(tenantId, work, signal);
    } finally {
      if (turns.size === 0 && this.#byOrigin.get(origin) === turns) this.#byOrigin.delete(origin);
    }
  }
}

function queueOf(limits: Pick<FairQueueOptions, 'perKey' | 'slots'>): FairQueue {
  return new FairQueue({ ...limits, maxWaiting, tooMany: busy });
}
