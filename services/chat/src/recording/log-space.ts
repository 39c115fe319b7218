import { OpenList } from '@gatehouse/kit/open-list';
import type { LoggedRun } from './logged-run.ts';
import { worthwhileBytes, carriedAtOnce } from '../bounds.ts';

/** While there is nothing else to do, a quarter of what is still needed is enough. */
const idleShare = 0.25;

/** Ends of one row waiting for publication. */
interface SpaceWaiter {
  sequence: number;
  runs: readonly LoggedRun[];
}

/** A deletion of rows under way: runs in them are written again first if still needed. */
interface Trim {
  to: number;
  left: LoggedRun[];
}

/**
 * Content of a log's rows: runs under way, ends waiting for publication, and the rest, which is of no use. Copies the
 * first two before it deletes, and so seldom as to make copying cheaper than writing was.
 */
export class LogSpace {
  /** Runs under way, in the order in which they began. */
  readonly open = new OpenList<LoggedRun>();
  /** In order. */
  #waiting: SpaceWaiter[] = [];
  /** Runs this process will not end, until another place has them. */
  #givenUp: LoggedRun[] = [];
  #sequence = 0;
  #marked = 0;
  /** Rows still there, in order, with what was written to each. */
  #rows: { sequence: number; bytes: number }[] = [];
  #writtenBytes = 0;
  #neededBytes = 0;
  #trim: Trim | null = null;

  /** The number of the last row. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Rows up to this one have nothing left to publish, once the ends of the runs in `and` are published as well. */
  published(and: ReadonlySet<LoggedRun> = new Set()): number {
    const first = this.#waiting.find(({ runs }) => runs.some((run) => !run.settled && !and.has(run)));
    return first === undefined ? this.#sequence : first.sequence - 1;
  }

  get isPublished(): boolean {
    return this.#waiting.length === 0;
  }

  /** Whether the last row does not say yet whether all is published. */
  get isUnmarked(): boolean {
    return this.#marked < this.#waitedTo;
  }

  /** The last row with waiting ends. */
  #waitedTo = 0;

  get isTrimming(): boolean {
    return this.#trim !== null;
  }

  /** A row was committed. `published`: as the row says it. */
  noteRow(sequence: number, published: number, carried: readonly LoggedRun[]): void {
    this.#sequence = sequence;
    this.#marked = published;
    this.#rows.push({ sequence, bytes: 0 });
    for (const run of carried) {
      run.sequence = sequence;
      this.#noteBytes(run);
    }
  }

  /** A start in the last row, committed at a time by the database clock. */
  noteStart(run: LoggedRun, at: string): void {
    run.startedAt = at;
    run.sequence = this.#sequence;
    run.state = 'open';
    run.leave = this.open.add(run);
    this.#neededBytes += run.bytes;
    this.#noteBytes(run);
  }

  /** Ends in the last row; `waits` if they are still to be published. */
  noteEnds(runs: readonly LoggedRun[], waits: boolean): void {
    for (const run of runs) {
      this.#leave(run);
      this.#noteBytes(run);
    }
    if (waits && runs.length > 0) {
      this.#waiting.push({ sequence: this.#sequence, runs });
      this.#waitedTo = this.#sequence;
    } else this.#settle(runs);
  }

  /** This process will not end the run; it stays in the log until `noteGivenUp`. */
  giveUp(run: LoggedRun): void {
    this.#leave(run);
    this.#givenUp.push(run);
  }

  /** Another place has these runs. */
  noteGivenUp(runs: readonly LoggedRun[]): void {
    this.#givenUp = this.#givenUp.filter((run) => !runs.includes(run));
    this.#settle(runs);
  }

  /** Ends of a row were published: all, or those of some runs. */
  notePublished(sequence: number, runs: readonly LoggedRun[]): void {
    const index = this.#waiting.findIndex((row) => row.sequence === sequence);
    if (index === -1) return;
    this.#settle(runs);
    if (this.#waiting[index]?.runs.every(({ settled }) => settled) === true) this.#waiting.splice(index, 1);
  }

  /** Whether there is something to delete; `idle` if nothing else is to do. */
  isWorthTrimming(idle: boolean): boolean {
    const useless = this.#writtenBytes - this.#neededBytes;
    const worthwhile = idle ? idleShare * this.#neededBytes : Math.max(worthwhileBytes, this.#neededBytes);
    return useless > worthwhile;
  }

  /** The next row's part of a deletion: runs to write again, and the row up to which to delete afterwards. */
  nextTrim(idle: boolean): { carried: LoggedRun[]; trimTo: number | null } {
    if (this.#trim === null && this.isWorthTrimming(idle)) {
      const to = this.published();
      const needed = [...this.open, ...this.#waiting.flatMap(({ runs }) => runs), ...this.#givenUp];
      this.#trim = { to, left: needed.filter(({ sequence }) => sequence <= to) };
    }
    const trim = this.#trim;
    if (trim === null) return { carried: [], trimTo: null };
    const carried = trim.left.splice(0, carriedAtOnce).filter(({ settled }) => !settled);
    return { carried, trimTo: trim.left.length === 0 ? trim.to : null };
  }

  /** The deletion under way was committed. */
  noteTrimmed(): void {
    const to = this.#trim?.to ?? 0;
    this.#trim = null;
    this.#rows = this.#rows.filter(({ sequence }) => sequence > to);
    this.#writtenBytes = this.#rows.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Nothing was deleted: tries again after as much was written again. */
  abandonTrim(): void {
    this.#trim = null;
    this.#writtenBytes = this.#neededBytes;
  }

  /** The last row has a copy of the run, or of its end. */
  #noteBytes({ bytes }: LoggedRun): void {
    const row = this.#rows.at(-1);
    if (row !== undefined) row.bytes += bytes;
    this.#writtenBytes += bytes;
  }

  #leave(run: LoggedRun): void {
    run.state = 'ended';
    run.leave?.();
    run.leave = null;
  }

  #settle(runs: readonly LoggedRun[]): void {
    for (const run of runs) {
      if (run.settled) continue;
      run.settled = true;
      this.#neededBytes -= run.bytes;
    }
  }
}
