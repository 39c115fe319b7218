import type { JobHandler } from '@gatehouse/jobs/task';
import { monotonicMs } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Queryable } from '@gatehouse/pg/pool';
import type { Ground } from '../ground.ts';
import type { RaiseEvent } from '../shared/raise-event.ts';
import { platformId } from '../shared/ref.ts';
import { attempt } from './attempt-job.ts';
import { type Attempt, type Delivery, type DueDelivery, type Verdict, verdictOf } from './delivery.ts';
import type { DeliveryMetrics } from './delivery-metrics.ts';
import type { DeliveryQueue } from './delivery-queue-store.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Hops } from './hops.ts';
import type { Messages } from './messages.ts';
import { minuteMs } from '@gatehouse/kit/bounds';
import { maxInFlight, suspendedS } from '../bounds.ts';

export interface DeliverDependencies extends Pick<Ground, 'egress'> {
  deliveries: DeliveryStore;
  messages: Messages;
  hops: Hops;
  queue: DeliveryQueue;
  raise: RaiseEvent;
  metrics: DeliveryMetrics;
  /** Whether the tenant is active. Throws during an outage of the tenant service. */
  isActive: (tenantId: string) => Promise<boolean>;
  /** Runs `work` in a transaction with access to the rows of a tenant. */
  within: (tenantId: string, work: (db: Queryable) => Promise<void>) => Promise<void>;
}

/**
 * Sends due deliveries to one target of a tenant, as many at a time as the target may have in flight. Further jobs in
 * this process for the same target add to the running one: a target that hangs holds one job.
 */
export function deliver(dependencies: DeliverDependencies): JobHandler<{ target: string }> {
  const { deliveries, messages, hops, egress, queue, raise, metrics, within, isActive } = dependencies;
  const running = new Map<string, Draining<DueDelivery>>();
  return async ({ target }, { tenantId, signal, log }) => {
    const queueKey = { tenantId, target };
    const key = `${tenantId}/${target}`;
    const known = running.get(key);
    if (known !== undefined) {
      known.add();
      return;
    }
    const startedAt = monotonicMs();
    const draining = new Draining<DueDelivery>(
      async () => {
        signal.throwIfAborted();
        return monotonicMs() - startedAt < minuteMs ? deliveries.claimDue(queueKey) : null;
      },
      (due) => send(due, log),
    );
    running.set(key, draining);
    let next: Date | null;
    try {
      if (await isActive(tenantId)) {
        draining.add();
        await draining.ended();
        next = await deliveries.nextDue(queueKey);
      } else next = new Date(Date.now() + suspendedS * 1_000);
    } finally {
      running.delete(key);
    }
    if (next !== null) await within(tenantId, (db) => queue.wake(db, queueKey, next));
  };

  async function send(delivery: DueDelivery, log: Logger): Promise<void> {
    const at = new Date();
    const startedAt = monotonicMs();
    const result = await attempt(delivery, { messages, hops, egress, at, log });
    // Nothing was sent, and the receiver is not to blame.
    if (result === null) {
      metrics.attempted('postponed');
      return deliveries.postpone(delivery);
    }
    const made: Attempt = { at, durationMs: Math.round(monotonicMs() - startedAt), ...result };
    const verdict = verdictOf(made, delivery);
    metrics.attempted(verdict.kind);
    await deliveries.record(delivery, { attempt: made, verdict }, (db) =>
      raiseDisabled(db, delivery, verdict, log),
    );
    log.debug({ delivery_id: delivery.id, status: made.status, verdict: verdict.kind }, 'sent a delivery');
  }

  async function raiseDisabled(
    db: Queryable,
    { tenantId, source, url }: Delivery,
    verdict: Verdict,
    log: Logger,
  ): Promise<void> {
    const [type, id] =
      source.kind === 'result'
        ? (['webhook_endpoint', source.endpointId] as const)
        : (['webhook_subscription', source.subscriptionId] as const);
    metrics.disabled();
    log.warn({ resource_type: type, resource_id: id }, 'disabled a webhook whose receiver fails');
    const reason = verdict.kind === 'failed' && verdict.because === 'gone' ? 'gone' : 'failing';
    const data = { resource_type: type, resource_id: id, url, reason } as const;
    // The owner gets no event: no type of the platform's is about this.
    if (tenantId !== platformId) await raise(db, tenantId, { id: newId(), type: 'endpoint.disabled', data });
  }
}

/** Takes due deliveries and sends them, several at a time. Each one taken lets another one be looked for. */
class Draining<Due> {
  readonly #take: () => Promise<Due | null>;
  readonly #send: (due: Due) => Promise<void>;
  readonly #active = new Set<Promise<void>>();
  #failures: unknown[] = [];

  constructor(take: () => Promise<Due | null>, send: (due: Due) => Promise<void>) {
    this.#take = take;
    this.#send = send;
  }

  /** Looks for what is due now. */
  add(): void {
    if (this.#active.size >= maxInFlight) return;
    const drain = this.#drain()
      .catch((error: unknown) => {
        this.#failures.push(error);
      })
      .finally(() => this.#active.delete(drain));
    this.#active.add(drain);
  }

  /** Resolves when all taken deliveries are sent and nothing more is due. Throws the first failure then. */
  async ended(): Promise<void> {
    while (this.#active.size > 0) await Promise.all(this.#active);
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  async #drain(): Promise<void> {
    for (let due = await this.#take(); due !== null; due = await this.#take()) {
      this.add();
      await this.#send(due);
    }
  }
}
