import type { RunEnded } from '@gatehouse/events/run-event';
import { monotonicMs } from '@gatehouse/kit/clock';
import { userDigest } from '@gatehouse/kit/user-digest';
import {
  anonymous,
  anonymousEnding,
  type StartedRun,
  storedAttempt,
  runEnding,
  type RunEnding,
  type StoredAttempts,
} from '../runs/run-record.ts';
import type { EndRow, RunKeeper, StartRow } from './run-rows.ts';
import { pgJson, withPgJson } from '../shared/pg-json.ts';
import { announceMs, longestHoldMs } from '../bounds.ts';

/** Runs as the rows of a log hold them. */

/** The start of a run, or a further call of it. Texts are JSON as `run-record.ts` defines it. */
export interface LoggedStart {
  id: string;
  tenantId: string;
  /** ISO 8601; null for one starting now. */
  startedAt: string | null;
  charges: string | null;
  /** Null for a further call. */
  run: string | null;
  attempts: string;
}

export interface LoggedEnd {
  id: string;
  /**
   * Members the end adds to the run's record; null where its event is written to the outbox, or its run is given up.
   */
  ending: string | null;
}

/** A run written later than it began. Its user may have been forgotten meanwhile. */
export interface WrittenLate {
  id: string;
  tenantId: string;
  digest: Buffer;
  startedAt: string;
}

/** The end of a run, and the client that waits for its commit. */
export interface AwaitedEnd {
  row: EndRow;
  /** By the monotonic clock. */
  since: number;
  resolve: () => void;
  /** Reports the end as lost, also after `resolve`. */
  reject: (error: unknown) => void;
}

/** `resolve` releases the client; `onLost` reports an end that can't be committed. */
export function awaitedEnd(
  row: EndRow,
  resolve: () => void,
  onLost: (row: EndRow, error: unknown) => void,
): AwaitedEnd {
  const reject = (error: unknown): void => {
    onLost(row, error);
    resolve();
  };
  return { row, since: monotonicMs(), resolve, reject };
}

/** Releases clients that have waited too long for a commit; their ends stay queued. Called each `announceMs`. */
export function releaseHeld(ends: Iterable<AwaitedEnd>, now: number): void {
  for (const { since, resolve } of ends) if (now - since > longestHoldMs - announceMs) resolve();
}

/** JSON of a start, and the record that `run` is the JSON of; null if it takes no objects. */
export interface StartTexts {
  charges: string | null;
  run: string;
  record: StartedRun | null;
  attempts: string;
}

/** Members an end adds to the run's record: as JSON with a comma in place of its first brace, and as an object. */
export interface EndTexts {
  text: string;
  ending: RunEnding;
}

/** A run in the log of this process, until its end is published. */
export class LoggedRun {
  readonly id: string;
  readonly tenantId: string;
  readonly charges: string | null;
  readonly log: RunKeeper;
  /** By the monotonic clock. */
  readonly since = monotonicMs();
  /** About how much it takes in the log. */
  readonly bytes: number;
  /** `starting` until it is known whether its start is written, and `over` if it is not. */
  state: 'starting' | 'open' | 'ended' | 'over' = 'starting';
  /** An end from before this was known. */
  earlyEnd: AwaitedEnd | null = null;
  /** Number of the row with its start. */
  sequence = 0;
  /** ISO 8601, by the database clock. */
  startedAt = '';
  announced = false;
  /** Whether the log need not hold it any more. */
  settled = false;
  /** Takes it off the list of runs under way. */
  leave: (() => void) | null = null;
  /** JSON: its record, and its calls so far. */
  #run: string;
  #attempts: string;
  /** The end's part of its event; null while it is under way. */
  #ending: string | null = null;
  /** The same as objects; null if its event passes as none, and once they differ from the texts. */
  #objects: { record: StartedRun; ending: RunEnding | null } | null;
  readonly #user: string | null;
  #forgotten = false;
  #digest: Buffer | null = null;

  constructor(run: StartedRun, texts: StartTexts, log: RunKeeper) {
    this.log = log;
    this.id = run.run_id;
    this.tenantId = run.tenant_id;
    this.charges = texts.charges;
    this.#run = texts.run;
    this.#objects = texts.record && { record: texts.record, ending: null };
    this.#attempts = texts.attempts;
    this.#user = run.user_id;
    this.bytes = texts.run.length + texts.attempts.length;
  }

  /** The data of its end event, or of its start event. */
  data(ends: boolean): string {
    return ends && this.#ending !== null ? `${this.#run.slice(0, -1)}${this.#ending}` : this.#run;
  }

  /** The data of its end event as an object that is not to be written to; null if there is only JSON. */
  ended(startedAt: string, endedAt: string): RunEnded | null {
    const { record, ending } = this.#objects ?? { record: null, ending: null };
    if (record === null || ending === null) return null;
    return { ...record, started_at: startedAt, ended_at: endedAt, ...ending };
  }

  /** Its start as a row holds it: for the first time, or again. */
  get start(): LoggedStart {
    return {
      id: this.id,
      tenantId: this.tenantId,
      startedAt: this.startedAt === '' ? null : this.startedAt,
      charges: this.charges,
      run: this.#run,
      attempts: this.#attempts,
    };
  }

  /** A further call of it. */
  call(row: StartRow): LoggedStart {
    const { id, tenantId } = this;
    return { id, tenantId, startedAt: null, charges: null, run: null, attempts: callsText(row) };
  }

  noteCall({ attempts }: LoggedStart): void {
    this.#attempts = attempts;
  }

  /** Whether its end is on its way. */
  get hasEnd(): boolean {
    return this.#ending !== null;
  }

  noteEnd(row: EndRow): void {
    const { text, ending } = endTexts(row);
    this.#ending = this.#forgotten ? anonymousEnding(text) : text;
    if (this.#objects !== null) this.#objects.ending = ending;
  }

  /** Its end; with `publish` false one with an event written elsewhere. */
  end(publish: boolean): LoggedEnd {
    return { id: this.id, ending: publish ? this.#ending : null };
  }

  /** For the check whether its user was forgotten; empty for a run without one. */
  get late(): WrittenLate[] {
    if (this.#user === null || this.#forgotten || this.startedAt === '') return [];
    this.#digest ??= userDigest(this.tenantId, this.#user);
    return [{ id: this.id, tenantId: this.tenantId, digest: this.#digest, startedAt: this.startedAt }];
  }

  /** Its user was forgotten: from now on it has neither the user nor texts. */
  forget(): void {
    this.#forgotten = true;
    this.#run = anonymous(this.#run);
    this.#objects = null;
    if (this.#ending !== null) this.#ending = anonymousEnding(this.#ending);
  }

  get forgotten(): boolean {
    return this.#forgotten;
  }
}

/** Texts of a run held by a log. */

export function startTexts(row: StartRow, { takesObjects }: { takesObjects: boolean }): StartTexts {
  const charges = row.charges === null ? null : pgJson(row.charges);
  const { text: run, value: record } = withPgJson(row.run);
  return { charges, run, record: takesObjects ? record : null, attempts: callsText(row) };
}

/** The calls of a run so far, with one about to be made. */
function callsText({ attempt, ended }: StartRow): string {
  const attempts: StoredAttempts = { ended: ended.map(storedAttempt), open: attempt };
  return pgJson(attempts);
}

export function endTexts({ run, end, attempts }: EndRow): EndTexts {
  const { text, value: ending } = withPgJson(runEnding(run, end, attempts));
  return { text: `,${text.slice(1)}`, ending };
}
