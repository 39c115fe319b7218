import { LRUCache } from 'lru-cache';
import { BackgroundLoop } from './background-loop.ts';
import { monotonicMs } from './clock.ts';

/** The changes a source has had since a position. */
export interface ListedChanges {
  /** For the next call. */
  position: string;
  /** Whether changes may be missing, as after the first call. */
  startsOver: boolean;
  /** The names of the things that have changed. */
  subjects: readonly string[];
}

export interface ChangeWatchOptions {
  /** Lists the changes since a position, '' at first. Should throw within a second if the source doesn't answer. */
  list: (position: string) => Promise<ListedChanges>;
  /** Default: half a second. */
  everyMs?: number;
}

const defaultEveryMs = 500;
/** A value is not taken for current when the source was silent for longer. */
const longestSilenceMs = 2_000;
/** Without use for longer, the source is not called. */
const idleMs = 10_000;
/** The newest changes are remembered. Nothing is known of values that are older than the others. */
const maxChanges = 10_000;

/**
 * Follows the changes of a source, so that values of it stay in use for minutes and yet end within seconds of a change.
 * While the source doesn't answer, nothing is known to be current, and values are used as long as without a watch.
 */
export class ChangeWatch {
  readonly #list: ChangeWatchOptions['list'];
  readonly #loop: BackgroundLoop;
  /** When a change was heard of last, by the name of the thing, in that order. */
  readonly #changedAt = new LRUCache<string, number>({
    max: maxChanges,
    dispose: (changedAt, _subject, reason) => {
      if (reason === 'evict') this.#incompleteUntil = Math.max(this.#incompleteUntil, changedAt);
    },
  });
  #position = '';
  /** All changes after this time are known. */
  #incompleteUntil = Infinity;
  /** The start of the last call that succeeded. */
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
   * The state of a value whose loading began at `loadedAt`, and which depends on `subjects`: it has changed since, it is
   * current, or neither is known.
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

  /** The start of the last call that succeeded: what was current then is so since. */
  get heardAt(): number {
    return this.#heardAt;
  }

  async #hear(): Promise<void> {
    const calledAt = monotonicMs();
    // A source that doesn't answer is seen in the age of what it last said, and in the metrics of its calls.
    const listed = await this.#list(this.#position).catch(() => null);
    if (listed === null) return;
    const { position, startsOver, subjects } = listed;
    const now = monotonicMs();
    // A value whose loading has begun may have been read before the change.
    for (const subject of subjects) this.#changedAt.set(subject, now);
    if (startsOver) this.#incompleteUntil = now;
    this.#position = position;
    this.#heardAt = calledAt;
  }
}
