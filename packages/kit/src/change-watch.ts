import { LRUCache } from 'lru-cache';
import { BackgroundLoop } from './background-loop.ts';
import { monotonicMs } from './clock.ts';
import { atMost } from './recent-map.ts';

/** The changes a source has had since a position. */
export interface ListedChanges {
  /** For the next call. */
  position: string;
  /** Whether changes may be missing, as after the first call. */
  startsOver: boolean;
  /** The names of the changed things. */
  subjects: readonly string[];
  /** The tenant of each thing; an empty text for one without. Values of a thing also depend on its tenant. */
  tenantIds?: readonly string[];
}

export interface ChangeWatchOptions {
  /** Lists the changes since a position, '' at first. Should throw within a second if the source doesn't answer. */
  list: (position: string) => Promise<ListedChanges>;
  /** Default: half a second. */
  everyMs?: number;
}

const defaultEveryMs = 500;
/**
 * A value is not taken for current when the source was silent for longer. An answer that is a second late must not send
 * all of them to the source at once. A changed value is used for so long at most after the change: silence is counted
 * from the start of the last successful call, and a look-up that takes its time afterwards returns the new value.
 */
const longestSilenceMs = 3_500;
/** Without use for longer, the source is not called. */
const idleMs = 10_000;
/** The newest changes are remembered. Nothing is known of values older than the others. */
const maxChanges = 10_000;
/** Beyond it, the tenant itself counts as changed in place of its things, so that others keep their values. */
const maxChangesOfTenant = 1_000;

/**
 * Follows the changes of a source: its values stay in use for minutes and yet end within seconds of a change. While the
 * source doesn't answer, nothing is known to be current, and values are used as long as without a watch.
 */
export class ChangeWatch {
  readonly #list: ChangeWatchOptions['list'];
  readonly #loop: BackgroundLoop;
  /** The time of the last known change, by the name of the thing, in this order. */
  readonly #changedAt = new LRUCache<string, number>({
    ...atMost(maxChanges),
    dispose: (changedAt, subject, reason) => {
      if (reason === 'set') return;
      this.#leave(subject);
      if (reason === 'evict') this.#incompleteUntil = Math.max(this.#incompleteUntil, changedAt);
    },
  });
  /** The things above, apart from tenants, by their tenants; and the other way round. */
  readonly #thingsOf = new Map<string, Set<string>>();
  readonly #tenantOf = new Map<string, string>();
  #position = '';
  /** All changes after this time are known. */
  #incompleteUntil = Infinity;
  /** The start of the last successful call. */
  #heardAt = -Infinity;
  #usedAt = -Infinity;

  constructor({ list, everyMs = defaultEveryMs }: ChangeWatchOptions) {
    this.#list = list;
    this.#loop = new BackgroundLoop(async () => {
      if (monotonicMs() - this.#usedAt < idleMs) await this.#hear();
      return everyMs;
    });
  }

  start(): void {
    this.#loop.start(0);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /**
   * The state of a value depending on `subjects`, with its loading begun at `loadedAt`: changed since, current, or
   * unknown.
   */
  stateOf(subjects: readonly string[], loadedAt: number): 'changed' | 'current' | 'unknown' {
    const now = monotonicMs();
    this.#usedAt = now;
    if (
      this.#changedAt.size > 0 &&
      subjects.some((subject) => (this.#changedAt.peek(subject) ?? 0) >= loadedAt)
    )
      return 'changed';
    return loadedAt > this.#incompleteUntil && now - this.#heardAt <= longestSilenceMs
      ? 'current'
      : 'unknown';
  }

  /** The start of the last successful call: everything current then is so since. */
  get heardAt(): number {
    return this.#heardAt;
  }

  async #hear(): Promise<void> {
    const calledAt = monotonicMs();
    // A silent source shows in the age of its last answer, and in the metrics of its calls.
    const listed = await this.#list(this.#position).catch(() => null);
    if (listed === null) return;
    const { position, startsOver, subjects, tenantIds = [] } = listed;
    const now = monotonicMs();
    // A value being loaded may have been read before the change.
    for (const [index, subject] of subjects.entries()) this.#note(subject, tenantIds[index] ?? '', now);
    if (startsOver) this.#incompleteUntil = now;
    this.#position = position;
    this.#heardAt = calledAt;
  }

  #note(subject: string, tenantId: string, now: number): void {
    if (tenantId === '' || tenantId === subject) {
      this.#changedAt.set(subject, now);
      return;
    }
    if (this.#tenantOf.get(subject) !== tenantId) this.#leave(subject);
    const things = this.#thingsOf.get(tenantId) ?? new Set();
    if (things.size >= maxChangesOfTenant && !things.has(subject)) {
      for (const thing of things) this.#changedAt.delete(thing);
      this.#changedAt.set(tenantId, now);
      return;
    }
    this.#thingsOf.set(tenantId, things.add(subject));
    this.#tenantOf.set(subject, tenantId);
    this.#changedAt.set(subject, now);
  }

  /** A thing is not remembered any more. */
  #leave(subject: string): void {
    const tenantId = this.#tenantOf.get(subject);
    if (tenantId === undefined) return;
    this.#tenantOf.delete(subject);
    const things = this.#thingsOf.get(tenantId);
    things?.delete(subject);
    if (things?.size === 0) this.#thingsOf.delete(tenantId);
  }
}
