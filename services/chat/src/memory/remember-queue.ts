import { jittered } from '@gatehouse/kit/background-loop';
import { settledWithin, sleep } from '@gatehouse/kit/clock';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Logger } from '@gatehouse/kit/log';
import { counter, type Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { RememberRequest } from '@gatehouse/proto/memory/v1/memory';

export interface RememberQueueOptions {
  memory: {
    /** Returns false if memory does not take the turn. */
    remember: (turn: RememberRequest) => Promise<boolean>;
  };
  /** Whether an error means that memory is unavailable, so that a retry may help. */
  isOutage: (error: unknown) => boolean;
  log: Logger;
  registry: Registry;
  /** How long `stop` waits for turns that are still to be sent. */
  drainMs: number;
  limits?: Partial<typeof defaults>;
}

const defaults = {
  maxItems: 2_000,
  /** UTF-16 units of all texts. */
  maxChars: 16 * 1024 * 1024,
  /** The part of `maxItems` and `maxChars` that one tenant may use. */
  maxOfTenant: 500,
  maxCharsOfTenant: 4 * 1024 * 1024,
  atOnce: 4,
  /** The part of `atOnce` that one tenant may use. */
  atOnceOfTenant: 2,
  tries: 4,
  /** Before the second try; doubles each time. */
  retryMs: 500,
};

/**
 * Sends finished turns to memory, off the request path. Bounded: turns beyond the bounds are dropped and counted, and so
 * is a turn that memory does not take in a few tries.
 */
export class RememberQueue {
  readonly #options: RememberQueueOptions;
  readonly #limits: typeof defaults;
  readonly #turns: Counter<'outcome'>;
  readonly #stopping = new AbortController();
  readonly #idle = new Set<() => void>();
  readonly #queue: FairQueue;
  readonly #held = noShare();
  readonly #tenantShares = new Map<string, TenantShare>();

  constructor(options: RememberQueueOptions) {
    this.#options = options;
    this.#limits = { ...defaults, ...options.limits };
    const { atOnceOfTenant: perKey, atOnce: slots } = this.#limits;
    this.#queue = new FairQueue({ perKey, slots, maxWaiting: Infinity });
    const { registry } = options;
    this.#turns = counter(
      registry,
      'gatehouse_memory_turns_total',
      'Finished turns for memory: stored, skipped by memory, dropped because the queue was full or the service stopped, or failed',
      ['outcome'],
    );
    // From 0, so that the first one counts as an increase.
    for (const outcome of ['stored', 'skipped', 'dropped', 'failed']) this.#turns.inc({ outcome }, 0);
    const held = (): number => this.#held.turns;
    new Gauge({
      name: 'gatehouse_memory_turns_waiting',
      help: 'Finished turns that wait to be sent to memory; beyond 2,000, or 16 Mi characters, they are dropped',
      registers: [registry],
      collect() {
        this.set(held());
      },
    });
  }

  add(turn: RememberRequest): void {
    const { maxItems, maxChars, maxOfTenant, maxCharsOfTenant } = this.#limits;
    const size = sizeOf(turn);
    const tenantShare = this.#tenantShares.get(turn.tenantId) ?? noShare();
    const isFull = this.#held.turns >= maxItems || this.#held.chars + size > maxChars;
    const hasEnough = tenantShare.turns >= maxOfTenant || tenantShare.chars + size > maxCharsOfTenant;
    if (isFull || hasEnough || this.#stopping.signal.aborted) {
      this.#turns.inc({ outcome: 'dropped' });
      return;
    }
    this.#tenantShares.set(turn.tenantId, tenantShare);
    for (const share of [tenantShare, this.#held]) {
      share.turns += 1;
      share.chars += size;
    }
    void this.#sendInTurn(turn, tenantShare, size);
  }

  /** Sends what waits for as long as the service may take to stop, and drops the rest. */
  async stop(): Promise<void> {
    const empty = new Promise<void>((resolve) => {
      if (this.#held.turns === 0) resolve();
      else this.#idle.add(resolve);
    });
    await settledWithin(empty, this.#options.drainMs);
    const dropped = this.#queue.waiting;
    this.#stopping.abort();
    if (dropped > 0)
      this.#options.log.warn({ turns: dropped }, 'stopped before all finished turns were sent to memory');
  }

  async #sendInTurn(turn: RememberRequest, tenantShare: TenantShare, size: number): Promise<void> {
    const send = (): Promise<Outcome> => this.#send(turn);
    // Fails only when the queue stops.
    const sent = this.#queue.run(turn.tenantId, send, this.#stopping.signal);
    this.#turns.inc({ outcome: await sent.catch((): Outcome => 'dropped') });
    for (const share of [tenantShare, this.#held]) {
      share.turns -= 1;
      share.chars -= size;
    }
    if (tenantShare.turns === 0) this.#tenantShares.delete(turn.tenantId);
    if (this.#held.turns === 0) for (const resolve of this.#idle) resolve();
  }

  async #send(turn: RememberRequest): Promise<Outcome> {
    const { memory, isOutage, log } = this.#options;
    const { tries, retryMs } = this.#limits;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return (await memory.remember(turn)) ? 'stored' : 'skipped';
      } catch (error) {
        if (this.#stopping.signal.aborted) return 'dropped';
        if (!isOutage(error) || attempt >= tries) {
          log.warn(
            { err: error, run_id: turn.runId, tenant_id: turn.tenantId },
            'failed to send a turn to memory',
          );
          return 'failed';
        }
        await sleep(jittered(retryMs * 2 ** (attempt - 1)), this.#stopping.signal).catch(() => undefined);
      }
    }
  }
}

type Outcome = 'stored' | 'skipped' | 'dropped' | 'failed';

/** Turns that wait or are being sent: all, or those of one tenant. */
interface TenantShare {
  turns: number;
  chars: number;
}

function noShare(): TenantShare {
  return { turns: 0, chars: 0 };
}

function sizeOf({ input, output }: RememberRequest): number {
  return input.length + output.length;
}
