import { BodyBudget, type TenantShare } from '@gatehouse/kit/body-budget';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Logger } from '@gatehouse/kit/log';
import { counter, Gauge, type Counter, type Registry } from '@gatehouse/kit/metrics';
import { isDatabaseOutage } from '@gatehouse/pg/errors';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { contentGroup, contentMemory, maxWaitingContents, shortRetryMs } from '../bounds.ts';
import { GroupCommit } from '../shared/group-commit.ts';
import { insertContents, type StoredContent } from './run-content-system-store.ts';
import type { RunContent, RunContents } from './run-content.ts';
import { sealContent } from './sealed-content.ts';

export interface ContentQueueOptions {
  /** Acts as `chat_system`. */
  pool: Pool;
  keyRing: KeyRing;
  log: Logger;
  registry: Registry;
  /** How long `stop` waits for contents to be stored. */
  drainMs: number;
}

type Outcome = 'stored' | 'dropped' | 'failed';

/**
 * Stores contents of ended runs, off the request path and in groups. Bounded in items and bytes: contents beyond the
 * bounds are dropped and counted.
 */
export class ContentQueue implements RunContents {
  readonly #options: ContentQueueOptions;
  readonly #memory = new BodyBudget(contentMemory);
  readonly #contents: Counter<'outcome'>;
  readonly #stopping = new AbortController();
  readonly #queue: FairQueue;
  readonly #commits: GroupCommit<StoredContent>;
  /** Contents not stored yet. */
  #waiting = 0;

  constructor(options: ContentQueueOptions) {
    this.#options = options;
    const { pool, log, registry } = options;
    this.#queue = new FairQueue({
      ...{ slots: contentGroup, perKey: contentGroup },
      ...{ maxWaiting: maxWaitingContents.tenant, maxWaitingOfAll: maxWaitingContents.all },
    });
    this.#commits = new GroupCommit<StoredContent>({
      commit: (contents) => insertContents(pool, contents),
      isOutage: isDatabaseOutage,
      maxItems: contentGroup,
      retry: {
        everyMs: shortRetryMs,
        maxWaiting: contentGroup,
        onOutage: (err, waiting) => log.warn({ err, waiting }, 'contents of runs wait for the database'),
      },
    });
    this.#contents = counter(
      registry,
      'gatehouse_run_contents_total',
      'Contents of runs of tenants that store them: stored, dropped because too many waited or the service stopped, or failed',
      ['outcome'],
    );
    // From 0, so the first one counts as an increase.
    for (const outcome of ['stored', 'dropped', 'failed']) this.#contents.inc({ outcome }, 0);
    const waiting = (): number => this.#waiting;
    new Gauge({
      name: 'gatehouse_run_contents_waiting',
      help: 'Contents of ended runs that are not stored yet; beyond 2,000, or 1,000 of a tenant, they are dropped',
      registers: [registry],
      collect() {
        this.set(waiting());
      },
    });
  }

  openShare(tenantId: string): TenantShare {
    return this.#memory.open(tenantId, null);
  }

  add(content: RunContent): void {
    this.#waiting += 1;
    void this.#queue
      .run(content.run.tenantId, () => this.#store(content), this.#stopping.signal)
      // Too many wait, or the queue stops.
      .catch((): Outcome => 'dropped')
      .then((outcome) => {
        this.#waiting -= 1;
        content.release();
        this.#contents.inc({ outcome });
      });
  }

  /** Stores what waits for as long as the service may take to stop, and drops the rest. */
  async stop(): Promise<void> {
    const end = monotonicMs() + this.#options.drainMs;
    while (this.#waiting > 0 && monotonicMs() < end) await sleep(10);
    const dropped = this.#waiting;
    this.#stopping.abort();
    await this.#commits.stop();
    if (dropped > 0)
      this.#options.log.warn({ contents: dropped }, 'stopped before all contents of runs were stored');
  }

  async #store(content: RunContent): Promise<Outcome> {
    const { keyRing, log } = this.#options;
    const { run, arrivedAt } = content;
    try {
      const sealed = await sealContent(keyRing, run, await content.document());
      await this.#commits.submit({ ...run, content: sealed, arrivedAt });
      return 'stored';
    } catch (error) {
      if (this.#stopping.signal.aborted) return 'dropped';
      log.warn(
        { err: error, run_id: run.id, tenant_id: run.tenantId },
        'failed to store the content of a run',
      );
      return 'failed';
    }
  }
}
