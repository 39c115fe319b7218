import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { isDatabaseOutage, isRolledBack } from '@gatehouse/pg/errors';
import type { Pool } from '@gatehouse/pg/pool';
import {
  abandon,
  deadLettersOf,
  eventOf,
  hasMore,
  lateRuns,
  only,
  partsOf,
  rowOf,
  settleUnstarted,
  unwritten,
  withoutStarts,
  type End,
  type Group,
  type PublishedRow,
  type Start,
} from './log-group-store.ts';
import { LogSpace } from './log-space.ts';
import { awaitedEnd, LoggedRun, type AwaitedEnd, releaseHeld, startTexts } from './logged-run.ts';
import { appendRow, closeLog, NothingWrittenError, type Appended } from './run-log-system-store.ts';
import type { RunPublisher } from './run-publisher-job.ts';
import { announceStarts } from './start-events-job.ts';
import { InstanceDeadError, type EndRow, type StartRow } from './run-rows.ts';
import { deadlockRetryMs, groupSize, logIdleMs, logRetryMs, maxSpilled, maxWaitingEnds } from '../bounds.ts';

export interface RunLogOptions {
  pool: Pool;
  instanceId: string;
  publisher: Pick<RunPublisher, 'isOpen' | 'takesObjects' | 'push'>;
  log: Logger;
  /** Counts events refused by the outbox. */
  deadLetters: { inc: (events: number) => void };
  /** Called when ends were committed; `waiting` if events were written to the outbox. */
  onCommitted: (ends: readonly EndRow[], waiting: boolean) => void;
  /** Called with an end that can't be committed, also after its client was released. */
  onLost: (row: EndRow, error: unknown) => void;
  /** Called with ends coming after the takeover of the log by another instance; resolves them. */
  onTaken: (ends: readonly AwaitedEnd[]) => void;
}

/**
 * Log of one instance: commits starts and ends of runs together, in the order in which they come, one row at a time.
 * The ends are published from here where it works, and by the outbox where not.
 */
export class RunLog {
  readonly instanceId: string;
  readonly #options: RunLogOptions;
  readonly #stopping = new AbortController();
  readonly #space = new LogSpace();
  readonly #starts: Start[] = [];
  readonly #ends: End[] = [];
  /** Rows with events for the outbox after all. */
  readonly #spilled: PublishedRow[] = [];
  readonly #givenUp: LoggedRun[] = [];
  /** Refused by the database, and tried again with each tick: until then they stay in the log. */
  readonly #refused: { spilled: PublishedRow[]; givenUp: LoggedRun[] } = { spilled: [], givenUp: [] };
  /** Starts maybe written already. */
  #inDoubt: readonly Start[] = [];
  #busy: Promise<void> | null = null;
  /** The group under way, as it was at first. */
  #committing: Group | null = null;
  /** `dead`: takes no starts. `taken`: another instance has it. `over`: the process stops without the database. */
  #state: 'living' | 'dead' | 'taken' | 'over' = 'living';
  #rests = false;
  #lastRowAt = 0;

  constructor(options: RunLogOptions) {
    this.#options = options;
    this.instanceId = options.instanceId;
  }

  /** Runs without a committed end yet. */
  get openRuns(): readonly string[] {
    return [...this.#space.open, ...this.#inDoubt.map(({ run }) => run)].map(({ id }) => id);
  }

  get waitingEnds(): number {
    return this.#ends.length;
  }

  /** Whether nothing is left to do for it. */
  get isDone(): boolean {
    if (this.openRuns.length > 0 || this.#busy !== null) return false;
    return this.#state === 'taken' || this.#space.isPublished;
  }

  /**
   * Commits a call before it is made; the first one starts its run. Rejects with `InstanceDeadError` if this log takes no
   * starts any more, and with `database_unavailable` if the call is not known to be recorded.
   */
  start(row: StartRow): Promise<void> {
    const first = row.attempt.number === 1;
    const run = first
      ? new LoggedRun(row.run, startTexts(row, this.#options.publisher), this)
      : row.handle.logged;
    if (this.#state !== 'living' || !(run instanceof LoggedRun) || (!first && run.state !== 'open'))
      return Promise.reject(new InstanceDeadError());
    row.handle.logged = run;
    const logged = first ? run.start : run.call(row);
    return new Promise((resolve, reject) => {
      this.#starts.push({ run, first, logged, resolve, reject });
      this.#work();
    });
  }

  /** Resolves when the end of a run of this log is committed, lost, or known to have no start, or was held too long. */
  end(row: EndRow): Promise<void> {
    const run = row.handle?.logged;
    return new Promise((resolve) => {
      const end = awaitedEnd(row, resolve, this.#options.onLost);
      // The first end counts.
      if (!(run instanceof LoggedRun)) resolve();
      else if (run.state === 'open' && !run.hasEnd) this.#queueEnd(run, end);
      else if (run.state === 'starting' && run.earlyEnd === null) run.earlyEnd = end;
      else resolve();
    });
  }

  /**
   * Publishes the starts of runs begun until then, by the monotonic clock, and deletes rows of no use. Releases clients
   * whose ends have waited too long.
   */
  async tick(now: number, announceUntil: number): Promise<void> {
    const starts = [...this.#starts, ...(this.#committing?.starts ?? [])];
    const early = starts.flatMap(({ run }) => run.earlyEnd ?? []);
    releaseHeld([...this.#ends, ...(this.#committing?.ends ?? []), ...early], now);
    if (this.#state === 'taken' || this.#state === 'over') return;
    this.#retryRefused();
    if (this.#state !== 'living') return;
    await announceStarts(this, this.#space.open, announceUntil, this.#options);
    if (this.#busy !== null || now - this.#lastRowAt < logIdleMs || !this.#space.isPublished) return;
    this.#rests = this.#space.isUnmarked || this.#space.isWorthTrimming(true);
    if (this.#rests) this.#work();
  }

  /** The events of a row were published. */
  published({ sequence, runs }: PublishedRow): void {
    if (sequence !== null) this.#space.notePublished(sequence, runs);
  }

  /** The events of a row can't be published from here: they go to the outbox. */
  spill(row: PublishedRow): void {
    this.#spilled.push(row);
    this.#work();
  }

  /** Waits for what is under way. The rest is taken over by another instance. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    while (this.#busy !== null) await this.#busy;
    if (this.openRuns.length > 0 || !this.#space.isPublished || this.#state !== 'living') return;
    await closeLog(this.#options.pool, this.instanceId).catch((error: unknown) =>
      this.#options.log.warn({ err: error }, 'failed to delete the log of runs; it will be taken over'),
    );
  }

  #queueEnd(run: LoggedRun, end: AwaitedEnd): void {
    try {
      if (this.#state === 'over' || this.#ends.length >= maxWaitingEnds)
        throw new Error(`${this.#ends.length} ends wait for the database already`);
      run.noteEnd(end.row);
    } catch (error) {
      end.reject(error);
      this.#giveUp(run);
      return;
    }
    this.#ends.push({ ...end, run });
    this.#work();
  }

  /** A reaper ends the run, as one of a dead process. */
  #giveUp(run: LoggedRun): void {
    this.#space.giveUp(run);
    this.#givenUp.push(run);
    this.#work();
  }

  #retryRefused(): void {
    const { spilled, givenUp } = this.#refused;
    if (spilled.length + givenUp.length === 0) return;
    this.#spilled.push(...spilled.splice(0));
    this.#givenUp.push(...givenUp.splice(0));
    this.#work();
  }

  #work(): void {
    this.#busy ??= this.#run();
  }

  async #run(): Promise<void> {
    // One turn of the event loop, so requests arriving together go together.
    await new Promise(setImmediate);
    while (this.#hasWork) await this.#commit((this.#committing = this.#nextGroup()));
    this.#committing = null;
    this.#busy = null;
  }

  get #hasWork(): boolean {
    if (this.#state === 'over') return false;
    const waiting = [this.#starts, this.#ends, this.#spilled, this.#givenUp].some(({ length }) => length > 0);
    return waiting || this.#rests || this.#space.isTrimming;
  }

  #nextGroup(): Group {
    const starts = this.#starts.splice(0, groupSize);
    // Rows of kept answers may be locked by a deletion of their user: starts do not wait for it.
    const alone =
      starts.length > 0 && this.#ends.slice(0, groupSize).some(({ row }) => row.answer ?? row.keeps);
    const trim = this.#space.nextTrim(this.#rests);
    this.#rests = false;
    return {
      ...{ ...trim, starts, sequence: this.#space.sequence + 1 },
      ends: alone ? [] : this.#ends.splice(0, groupSize),
      publishes: this.#options.publisher.isOpen,
      spilled: this.#spilled.splice(0, maxSpilled),
      givenUp: this.#givenUp.splice(0, groupSize),
    };
  }

  /** Until it is known whether the group is written, or the process stops. */
  async #commit(first: Group): Promise<void> {
    for (let group: Group | null = first; group !== null;) {
      const { appended, error, published } = await this.#append(group);
      if (appended !== undefined) {
        group = this.#take(group, appended, published);
      } else if (isRolledBack(error)) {
        await sleep(deadlockRetryMs);
      } else if (!isDatabaseOutage(error)) {
        return this.#commitApart(group, error);
      } else {
        const isUnwritten: boolean = error instanceof NothingWrittenError;
        this.#refuseStarts(group.starts, error);
        const rest: Group | null = isUnwritten ? unwritten(group) : await this.#findOut(group, error);
        group = rest !== null && hasMore(rest) ? await this.#sitOut(rest, error) : null;
      }
    }
  }

  /** `published`: as the row says it. */
  async #append(group: Group): Promise<{ appended?: Appended; error?: unknown; published: number }> {
    const spilled = group.spilled.flatMap(({ sequence, runs }) => (sequence === null ? [] : runs));
    const published = this.#space.published(new Set(spilled));
    const row = rowOf(group, { instanceId: this.instanceId, published });
    return appendRow(this.#options.pool, row).then(
      (appended) => ({ appended, published }),
      (error: unknown) => ({ error, published }),
    );
  }

  /**
   * The database may have written the group. Writes an empty row under its number: if one is there already, it is the
   * group. Returns what is left to write.
   */
  async #findOut(group: Group, lost: unknown): Promise<Group | null> {
    this.#inDoubt = group.starts.filter(({ first }) => first);
    const empty = only(group, {});
    for (;;) {
      if ((await this.#sitOut(group, lost)) === null) return null;
      const { appended, error, published } = await this.#append(empty);
      if (appended === undefined) {
        this.#refuseStarts([], error);
        continue;
      }
      this.#inDoubt = [];
      if (appended.outcome === 'taken') {
        for (const { run } of group.starts) run.state = 'open';
        return this.#take(group, appended, 0);
      }
      // An earlier try wrote it, which said less.
      if (appended.outcome === 'written' && appended.again) return this.#written(group, appended.at, 0);
      this.#space.noteRow(group.sequence, published, []);
      return unwritten({ ...group, sequence: group.sequence + 1 });
    }
  }

  /** Returns the group after a while, or null if the process stops without the database. */
  async #sitOut(group: Group, error: unknown): Promise<Group | null> {
    const ends = group.ends.length + this.#ends.length;
    this.#options.log.warn({ err: error, ends }, 'ends of runs wait for the database');
    await sleep(logRetryMs, this.#stopping.signal).catch(() => undefined);
    if (!this.#stopping.signal.aborted) return group;
    this.#state = 'over';
    abandon(group, { starts: this.#starts.splice(0), ends: this.#ends.splice(0) }, error);
    return null;
  }

  /** Rejects starts not known to be recorded, and those only waiting for the same. */
  #refuseStarts(starts: readonly Start[], error: unknown): void {
    for (const { reject } of starts) reject(error);
    const waiting = this.#starts.splice(0);
    for (const { reject } of waiting) reject(new NothingWrittenError(error));
    settleUnstarted(waiting);
  }

  /** Returns what is to be tried once more. `published`: as the row says it. */
  #take(group: Group, appended: Appended, published: number): Group | null {
    switch (appended.outcome) {
      case 'written':
        if (!appended.again) return this.#written(group, appended.at, published);
        this.#options.log.error(
          { instance: this.instanceId },
          'another process writes to the log of this one',
        );
        this.#taken(group);
        return null;
      case 'forgotten':
        for (const run of lateRuns(group)) if (appended.ids.has(run.id)) run.forget();
        return group;
      case 'dead':
        this.#noteDead('dead', group.starts);
        return hasMore(group) ? withoutStarts(group) : null;
      case 'taken':
        this.#taken(group);
        return null;
    }
  }

  #written(group: Group, at: string, published: number): null {
    const { sequence, starts, ends, spilled, givenUp, carried, trimTo, publishes } = group;
    this.#lastRowAt = monotonicMs();
    const space = this.#space;
    for (const row of spilled) this.published(row);
    this.#noteDeadLetters(group);
    space.noteRow(sequence, published, carried);
    for (const { run, first, logged } of starts) {
      if (first) space.noteStart(run, at);
      else run.noteCall(logged);
      if (run.earlyEnd !== null) this.#queueEnd(run, run.earlyEnd);
      run.earlyEnd = null;
    }
    const ended = ends.map(({ run }) => run);
    space.noteEnds(ended, publishes);
    space.noteGivenUp(givenUp);
    if (trimTo !== null) space.noteTrimmed();
    const events = publishes ? ended.map((run) => eventOf(run, at)) : [];
    if (events.length > 0)
      this.#options.publisher.push({ log: this, sequence, runs: ended, events, since: this.#lastRowAt });
    this.#options.onCommitted(
      ends.map(({ row }) => row),
      !publishes || spilled.length > 0,
    );
    const settle = (): void => [...starts, ...ends].forEach(({ resolve }) => resolve());
    // After the next group is sent, so the database works while the requests of this one go on.
    if (this.#hasWork) setImmediate(settle);
    else settle();
    return null;
  }

  /** The database rejects the group: part by part, so one bad row harms no other. */
  async #commitApart(group: Group, error: unknown): Promise<void> {
    const { starts, ends, spilled, givenUp } = group;
    const parts = partsOf(group);
    const apart = parts.length > 1 ? parts : deadLettersOf(group, error);
    for (const part of apart) await this.#commit({ ...part, sequence: this.#space.sequence + 1 });
    if (apart.length > 0) return;
    for (const { reject } of starts) reject(error);
    settleUnstarted(starts);
    for (const { run, reject } of ends) {
      this.#giveUp(run);
      reject(error);
    }
    if (starts.length + ends.length > 0) return;
    this.#options.log.error({ err: error }, 'failed to write to the log of runs');
    this.#refused.spilled.push(...spilled);
    this.#refused.givenUp.push(...givenUp);
    this.#space.abandonTrim();
  }

  #noteDeadLetters({ ends, spilled, publishes, refusal }: Group): void {
    if (refusal === undefined) return;
    const runs = [...(publishes ? [] : ends), ...spilled.flatMap((row) => row.runs.map((run) => ({ run })))];
    const fields = { runs: runs.map(({ run }) => run.id), reason: refusal };
    this.#options.log.error(fields, 'moved events of runs to the dead letters');
    this.#options.deadLetters.inc(runs.length);
  }

  #noteDead(state: 'dead' | 'taken', starts: readonly Start[]): void {
    this.#state = state;
    const refused = [...starts, ...this.#starts.splice(0)];
    for (const { reject } of refused) reject(new InstanceDeadError());
    settleUnstarted(refused.filter(({ run }) => run.state === 'starting'));
  }

  /** Another instance has the log: it ends the runs under way, and publishes the ends it found. */
  #taken({ starts, ends }: Group): void {
    const early = starts.flatMap(({ run }) => (run.state === 'open' ? (run.earlyEnd ?? []) : []));
    this.#noteDead('taken', starts);
    const late = [...ends, ...this.#ends.splice(0)];
    for (const { run } of late) this.#space.giveUp(run);
    for (const row of this.#spilled.splice(0)) this.published(row);
    this.#space.noteGivenUp([...late.map(({ run }) => run), ...this.#givenUp.splice(0)]);
    this.#space.abandonTrim();
    this.#options.onTaken([...late, ...early]);
  }
}
