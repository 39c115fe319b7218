import { jittered } from '@gatehouse/kit/background-loop';
import { settledWithin, sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';
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
  #waiting: RememberRequest[] = [];
  readonly #ofTenants = new Map<string, Share>();
  #chars = 0;
  /** Turns that wait or are being sent. */
  #held = 0;
  #sending = 0;

  constructor(options: RememberQueueOptions) {
    this.#options = options;
    this.#limits = { ...defaults, ...options.limits };
    const registers = [options.registry];
    this.#turns = new Counter({
      name: 'gatehouse_memory_turns_total',
      help: 'Finished turns for memory: stored, skipped by memory, dropped because the queue was full or the service stopped, or failed',
      labelNames: ['outcome'],
      registers,
    });
    // From 0, so that the first one counts as an increase.
    for (const outcome of ['stored', 'skipped', 'dropped', 'failed']) this.#turns.inc({ outcome }, 0);
    const held = (): number => this.#held;
    new Gauge({
      name: 'gatehouse_memory_turns_waiting',
      help: 'Finished turns that wait to be sent to memory; beyond 2,000, or 16 Mi characters, they are dropped',
      registers,
      collect() {
        this.set(held());
      },
    });
  }

  add(turn: RememberRequest): void {
    const { maxItems, maxChars, maxOfTenant, maxCharsOfTenant } = this.#limits;
    const size = sizeOf(turn);
    const own = this.#ofTenants.get(turn.tenantId) ?? noShare();
    const isFull = this.#held >= maxItems || this.#chars + size > maxChars;
    const hasEnough = own.held >= maxOfTenant || own.chars + size > maxCharsOfTenant;
    if (isFull || hasEnough || this.#stopping.signal.aborted) {
      this.#turns.inc({ outcome: 'dropped' });
      return;
    }
    this.#ofTenants.set(turn.tenantId, own);
    own.held += 1;
    own.chars += size;
    this.#held += 1;
    this.#chars += size;
    this.#waiting.push(turn);
    if (this.#sending < this.#limits.atOnce) void this.#work();
  }

  /** Sends what waits for as long as the service may take to stop, and drops the rest. */
  async stop(): Promise<void> {
    const empty = new Promise<void>((resolve) => {
      if (this.#held === 0) resolve();
      else this.#idle.add(resolve);
    });
    await settledWithin(empty, this.#options.drainMs);
    this.#stopping.abort();
    const dropped = this.#waiting.splice(0).length;
    this.#ofTenants.clear();
    this.#turns.inc({ outcome: 'dropped' }, dropped);
    if (dropped > 0)
      this.#options.log.warn({ turns: dropped }, 'stopped before all finished turns were sent to memory');
  }

  async #work(): Promise<void> {
    this.#sending += 1;
    for (let turn = this.#next(); turn !== undefined; turn = this.#next()) {
      const own = this.#ofTenants.get(turn.tenantId) ?? noShare();
      own.sending += 1;
      this.#turns.inc({ outcome: await this.#send(turn) });
      own.sending -= 1;
      own.held -= 1;
      own.chars -= sizeOf(turn);
      if (own.held === 0) this.#ofTenants.delete(turn.tenantId);
      this.#held -= 1;
      this.#chars -= sizeOf(turn);
    }
    this.#sending -= 1;
    if (this.#held === 0) for (const resolve of this.#idle) resolve();
  }

  /** Takes the first turn whose tenant has not enough under way. */
  #next(): RememberRequest | undefined {
    const { atOnceOfTenant } = this.#limits;
    const index = this.#waiting.findIndex(
      ({ tenantId }) => (this.#ofTenants.get(tenantId)?.sending ?? 0) < atOnceOfTenant,
    );
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }

  async #send(turn: RememberRequest): Promise<'stored' | 'skipped' | 'dropped' | 'failed'> {
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

/** The share of one tenant in the queue. */
interface Share {
  /** Turns that wait or are being sent. */
  held: number;
  chars: number;
  sending: number;
}

function noShare(): Share {
  return { held: 0, chars: 0, sending: 0 };
}

function sizeOf({ input, output }: RememberRequest): number {
  return input.length + output.length;
}
