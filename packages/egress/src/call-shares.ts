import { Turns } from '@gatehouse/kit/turns';
import { EgressError } from './errors.ts';

/** Calls at the same time: in all, to one host and port, and the parts of both that one tenant may have. */
export interface MaxCalls {
  all: number;
  tenant: number;
  origin: number;
  tenantAtOrigin: number;
}

/** Calls of one tenant that wait for their turn. */
const maxWaiting = 256;
const waitMs = 2_000;
const busy = (): EgressError => new EgressError('busy');

/**
 * Gives out the calls that may be under way. Each tenant has a share, of all and of those to one host; beyond it a call
 * waits for one of the tenant's own to end, and where all are in use, tenants take turns.
 */
export class CallShares {
  readonly #max: MaxCalls;
  readonly #all: Turns;
  readonly #origins = new Map<string, Turns>();
  #running = 0;

  constructor(max: MaxCalls) {
    this.#max = max;
    this.#all = this.#turns(max.tenant, max.all);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    let waiting = this.#all.waiting;
    for (const turns of this.#origins.values()) waiting += turns.waiting;
    return waiting;
  }

  /**
   * Waits for the turn of a call of a tenant, and returns what ends it. Throws `EgressError` `busy` after two seconds, and
   * the reason of `signal`. The platform is one tenant: null.
   */
  hold(tenantId: string | null, origin: string, signal: AbortSignal): Promise<() => void> {
    const { promise: ended, resolve: end } = Promise.withResolvers<undefined>();
    const { promise: begun, resolve: begin, reject } = Promise.withResolvers<() => void>();
    const call = async (): Promise<void> => {
      this.#running += 1;
      begin(() => end(undefined));
      await ended;
      this.#running -= 1;
    };
    // First the turn at the host: one that is slow holds up no other one.
    const turns = this.#turnsAt(origin);
    turns
      .run(tenantId, () => this.#all.run(tenantId, call, signal), signal)
      .catch(reject)
      .finally(() => {
        if (turns.size === 0 && this.#origins.get(origin) === turns) this.#origins.delete(origin);
      });
    return begun;
  }

  #turnsAt(origin: string): Turns {
    const { tenantAtOrigin, origin: slots } = this.#max;
    const turns = this.#origins.get(origin) ?? this.#turns(tenantAtOrigin, slots);
    this.#origins.set(origin, turns);
    return turns;
  }

  #turns(perKey: number, slots: number): Turns {
    return new Turns({ perKey, slots, maxWaiting, tooMany: busy, longestWait: { ms: waitMs, error: busy } });
  }
}
