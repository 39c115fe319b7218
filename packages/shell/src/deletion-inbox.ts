import { topics, type ServiceName } from '@gatehouse/contract/services';
import type { Received } from '@gatehouse/events/dead-letters';
import {
  readDeletionEvent,
  writeDeletionReceipt,
  type DeletedAgentEvent,
  type DeletionEvent,
} from '@gatehouse/events/deletion-event';
import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import type { Pool } from '@gatehouse/pg/pool';
import { checkCaller, consumeTopic, handleEach } from './topic-consumer.ts';
import { DeletionInboxStore, oldDeletions, type Counts, type TakenDeletion } from './deletion-inbox-store.ts';
import { eventSender, type OutboxPublisherOptions, type SendEvent } from './outbox-publisher.ts';
import type { Shell } from './shell.ts';

export interface UserDeletion {
  tenantId: string;
  userId: string;
  /** Older data of the user is removed. */
  requestedAt: Date;
}

export interface Forgotten {
  /** Numbers of what this call has removed, by kind. */
  counts: Counts;
  /** False when more is to be removed. */
  completed: boolean;
}

export interface DeletionInboxOptions {
  config: OutboxPublisherOptions['config'] & { TENANT_GRPC: readonly string[] };
  /** A pool of `<service>_system`. */
  system: Pool;
  /** Removes a batch of what the service holds of a user. May be repeated. */
  forgetUser: (deletion: UserDeletion) => Promise<Forgotten>;
  /** Starts the removal of what the service holds of an agent. May be repeated. Default: nothing. */
  forgetAgent?: (agent: DeletedAgentEvent) => Promise<void>;
}

/** The longest wait for the next due deletion: another replica may have taken one. */
const idleMs = 30_000;
/** The wait after a step without removals, unless it is the last one: for example while runs are under way. */
const waitS = 5;
const retryMs = 10_000;

/** The sending service of each type of event. */
const senders: Record<DeletionEvent['type'], ServiceName> = { user: 'tenant', agent: 'agent' };

/** Takes deletions from the topic `gatehouse.deletions.v1`, carries them out, and sends the receipts to tenant. */
export function takeDeletions(shell: Shell, options: DeletionInboxOptions): void {
  const { name, log } = shell;
  const { config, system } = options;
  const source = `gatehouse/${name}/deletions`;
  const send = eventSender(shell, { config, source, topic: topics.receipts, consumer: config.TENANT_GRPC });
  const store = new DeletionInboxStore(system, name);
  const inbox = new DeletionInbox({ ...options, service: name, source, send, store, log });
  consumeTopic(shell, {
    ...{ topic: topics.deletions, config, group: '-deletions' },
    take: (events, caller) => inbox.take(events, caller),
  });
  shell.add(inbox);
  for (const part of cleanUp(log, system, [oldDeletions(name)])) shell.add(part);
}

interface DeletionInboxParts extends Pick<DeletionInboxOptions, 'forgetUser' | 'forgetAgent'> {
  service: string;
  source: string;
  send: SendEvent;
  store: Pick<DeletionInboxStore, 'add' | 'claim' | 'untilDueMs' | 'record' | 'postpone' | 'postponeByAge'>;
  log: Logger;
}

/** Carries out the deletions a service has taken, a step at a time, and sends a receipt after each. */
export class DeletionInbox {
  readonly #parts: DeletionInboxParts;
  readonly #loop: BackgroundLoop;

  constructor(parts: DeletionInboxParts) {
    this.#parts = parts;
    const report = (error: unknown): void =>
      parts.log.warn({ err: error }, 'failed to look for deletions of users');
    this.#loop = new BackgroundLoop(() => this.#round(), { report, pauseMs: retryMs });
  }

  start(): void {
    this.#loop.start(0);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /**
   * Resolves once all events are durable. An unreadable one is skipped: tenant repeats it until it has a receipt.
   * `caller`: the service sending them without Kafka.
   */
  async take(events: readonly Received[], caller?: string): Promise<void> {
    const { log } = this.#parts;
    try {
      await handleEach(events, async ({ origin, payload }) => {
        const event = read(payload.toString('utf8'), (error) =>
          log.error({ origin, err: error }, 'failed to read a deletion; skipped it'),
        );
        if (event !== null) await this.#add(event, caller);
      });
    } finally {
      this.#loop.wake();
    }
  }

  async #add(event: DeletionEvent, caller: string | undefined): Promise<void> {
    const { service, store, forgetAgent } = this.#parts;
    checkCaller(caller, senders[event.type]);
    if (event.type === 'agent') await forgetAgent?.(event.agent);
    else if (event.deletion.service === service) await store.add(event.deletion);
  }

  async #round(): Promise<number> {
    const { store } = this.#parts;
    const deletions = await store.claim();
    await Promise.all(deletions.map((deletion) => this.#advance(deletion)));
    if (deletions.length > 0) return 0;
    const dueMs = (await store.untilDueMs()) ?? idleMs;
    return Math.max(0, Math.min(dueMs, idleMs));
  }

  async #advance(deletion: TakenDeletion): Promise<void> {
    const { store, log } = this.#parts;
    try {
      const { state, waits } = await this.#step(deletion);
      if (state === null) return;
      await this.#sendReceipt(state);
      await store.postpone(state, state.userId === null ? null : waits ? waitS : 0);
    } catch (error) {
      const { deletionId } = deletion;
      // A transfer between tenants uses the data.
      if (!(error instanceof AppError && error.code === 'resource_locked'))
        log.warn({ err: error, deletion_id: deletionId }, 'failed to delete data of a user; retrying');
      // During an outage of the database, the lease ends instead.
      await store.postponeByAge(deletion).catch(() => undefined);
    }
  }

  /** Removes a batch. `waits`: there was nothing to remove yet. */
  async #step(deletion: TakenDeletion): Promise<{ state: TakenDeletion | null; waits: boolean }> {
    const { store, forgetUser } = this.#parts;
    const { tenantId, userId, requestedAtMs } = deletion;
    if (userId === null) return { state: deletion, waits: false };
    const forgotten = await forgetUser({ tenantId, userId, requestedAt: new Date(requestedAtMs) });
    const waits = Object.values(forgotten.counts).every((count) => count === 0);
    return { state: await store.record(deletion, forgotten), waits };
  }

  async #sendReceipt({ deletionId, tenantId, requestedAtMs, counts, userId }: TakenDeletion): Promise<void> {
    const { service, source, send } = this.#parts;
    const subject = { deletion_id: deletionId, tenant_id: tenantId, service, requested_at_ms: requestedAtMs };
    const receipt = { ...subject, counts: { ...counts }, completed: userId === null };
    await send(tenantId, writeDeletionReceipt(source, receipt));
  }
}

function read(text: string, report: (error: unknown) => void): ReturnType<typeof readDeletionEvent> {
  try {
    return readDeletionEvent(text);
  } catch (error) {
    report(error);
    return null;
  }
}
