import { jittered } from '@gatehouse/kit/background-loop';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Logger } from '@gatehouse/kit/log';
import { counter, type Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { RememberRequest } from '@gatehouse/proto/memory/v1/memory';

export interface RememberQueueOptions {
  memory: {
    /** Returns false if memory does not take the turn. */
    remember: (turn: RememberRequest) => Promise<boolean>;
  };
  /** Whether an error means an outage of memory, so a retry may help. */
  isOutage: (error: unknown) => boolean;
  log: Logger;
  registry: Registry;
  /** How long `stop` waits for unsent turns. */
  drainMs: number;
  limits?: Partial<typeof defaults>;
}

/** A turn has 64 Ki characters at most: 32 Mi characters wait in all. */
const defaults = {
  /** Turns sent at once, and the part one tenant may use. */
  slots: 4,
  perKey: 2,
  /** Waiting turns, and the part of one tenant. */
  maxWaitingOfAll: 500,
  maxWaiting: 125,
  tries: 4,
  /** Before the second try; doubles each time. */
  retryMs: 500,
};

/**
 * Sends finished turns to memory, off the request path. Bounded: turns beyond the bounds are dropped and counted, and
 * so is a turn after a few failed tries.
 */
export class RememberQueue {
  readonly #options: RememberQueueOptions;
  readonly #limits: typeof defaults;
  readonly #turns: Counter<'outcome'>;
  readonly #stopping = new AbortController();
  readonly #queue: FairQueue;

  constructor(options: RememberQueueOptions) {
    this.#options = options;
    this.#limits = { ...defaults, ...options.limits };
    const queue = new FairQueue(this.#limits);
    this.#queue = queue;
    const { registry } = options;
    this.#turns = counter(
      registry,
      'gatehouse_memory_turns_total',
      'Finished turns for memory: stored, skipped by memory, dropped because the queue was full or the service stopped, or failed',
      ['outcome'],
    );
    // From 0, so the first one counts as an increase.
    for (const outcome of ['stored', 'skipped', 'dropped', 'failed']) this.#turns.inc({ outcome }, 0);
    new Gauge({
      name: 'gatehouse_memory_turns_waiting',
      help: 'Finished turns that wait to be sent to memory; beyond 500, or 125 of a tenant, they are dropped',
      registers: [registry],
      collect() {
        this.set(queue.waiting);
      },
    });
  }

  add(turn: RememberRequest): void {
    // Fails when too many wait, and when the queue stops.
    void this.#queue
      .run(turn.tenantId, () => this.#send(turn), this.#stopping.signal)
      .catch((): Outcome => 'dropped')
      .then((outcome) => this.#turns.inc({ outcome }));
  }

  /** Sends what waits for as long as the service may take to stop, and drops the rest. */
  async stop(): Promise<void> {
    const end = monotonicMs() + this.#options.drainMs;
    while (this.#queue.size > 0 && monotonicMs() < end) await sleep(10);
    const dropped = this.#queue.waiting;
    this.#stopping.abort();
    if (dropped > 0)
      this.#options.log.warn({ turns: dropped }, 'stopped before all finished turns were sent to memory');
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
