import { cacheKey } from '@gatehouse/kit/cache-key';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { AppError } from '@gatehouse/kit/errors';
import { OpenList } from '@gatehouse/kit/open-list';
import { RunStopped } from '../providers/provider-failure.ts';
import {
  allSelections,
  digestBy,
  selectedThing,
  type RunSubject,
  type Selected,
  type Selection,
} from './selection.ts';
import { pruneHoldsMs } from '../bounds.ts';

/** A turn under way. */
export interface OpenTurn extends RunSubject {
  /** By the monotonic clock. */
  readonly arrivedAt: number;
  /** Null until it has a run. */
  runId: string | null;
  /** Ends the turn: its provider call, and all further steps. */
  readonly ending: AbortController;
}

/** A stop as the database has it. */
export interface Stop {
  id: string;
  tenantId: string;
  /** The one run to end; null for all selected ones. */
  runId: string | null;
  /** Null for a run without a session, after which no request is refused. */
  selected: Selected | null;
  /** The time since the stop, in milliseconds. */
  ageMs: number;
  /** The time until which requests are refused, in milliseconds from now; not positive once it is over. */
  leftMs: number;
  holdUntil: Date;
}

interface Hold {
  /** By the monotonic clock. */
  until: number;
  holdUntil: Date;
}

/**
 * The stops of all tenants as this process knows them, and its turns under way. A tenant with no stop in force costs a
 * request one look-up.
 */
export class RunStops {
  /** By tenant, and by selection and digest: about 300 bytes each. */
  readonly #holds = new Map<string, Map<string, Hold>>();
  readonly #turns = new OpenList<OpenTurn>();
  #prunedAt = monotonicMs();
  /** Null while the stops in force are known. */
  #unknown: PromiseWithResolvers<undefined> | null = null;

  /** Resolves once the stops in force are known; undefined while they are. Rejects with the error of `refuse`. */
  whenKnown(): Promise<undefined> | undefined {
    return this.#unknown?.promise;
  }

  /** New stops may be missed from now on. Requests wait until all have been read. */
  lose(): void {
    if (this.#unknown !== null) return;
    this.#unknown = Promise.withResolvers<undefined>();
    this.#unknown.promise.catch(() => undefined);
  }

  /** Stops can't be read: refuses the waiting requests with this error. Later ones wait for the next attempt. */
  refuse(error: AppError): void {
    this.#unknown?.reject(error);
    this.#unknown = null;
    this.lose();
  }

  /** All stops in force have been read, and new ones are announced. */
  restore(): void {
    this.#unknown?.resolve(undefined);
    this.#unknown = null;
  }

  /** Admits a turn, and ends it once a stop selects it. Returns a function to call once it is over. Throws `run_stopped`. */
  enter(turn: OpenTurn): () => void {
    this.assertFree(turn);
    return this.#turns.add(turn);
  }

  /** Throws `run_stopped` for a request selected by a stop in force. */
  assertFree(subject: RunSubject): void {
    const holds = this.#holds.get(subject.tenantId);
    if (holds === undefined) return;
    const now = monotonicMs();
    for (const selection of allSelections) {
      const digest = digestBy(selection, subject);
      const hold = digest === null ? undefined : holds.get(keyOf({ selection, digest }));
      if (hold === undefined || hold.until <= now) continue;
      const until = hold.holdUntil.toISOString();
      throw new RunStopped(`The runs of this ${selectedThing[selection]} are stopped until ${until}.`);
    }
  }

  /** The turns under way that have a user, grouped by tenant and user. */
  turnsByUser(): OpenTurn[][] {
    const turns = [...this.#turns].filter(({ userId, ending }) => userId !== null && !ending.signal.aborted);
    return [...Map.groupBy(turns, ({ tenantId, userId }) => cacheKey(tenantId, userId)).values()];
  }

  /** Notes stops, and ends the selected turns. The same stop may come again. */
  apply(stops: readonly Stop[]): void {
    const now = monotonicMs();
    for (const [tenantId, some] of Map.groupBy(stops, (stop) => stop.tenantId)) {
      for (const stop of some) this.#hold(stop, now);
      this.#end(tenantId, some, now);
    }
    this.#prune(now);
  }

  #hold({ tenantId, selected, leftMs, holdUntil }: Stop, now: number): void {
    if (selected === null || leftMs <= 0) return;
    const holds = this.#holds.get(tenantId) ?? new Map<string, Hold>();
    this.#holds.set(tenantId, holds);
    const key = keyOf(selected);
    const known = holds.get(key);
    // Stops of two runs of one session: the longer one counts.
    if (known !== undefined && known.holdUntil > holdUntil) return;
    holds.set(key, { until: Math.max(known?.until ?? 0, now + leftMs), holdUntil });
  }

  #end(tenantId: string, stops: readonly Stop[], now: number): void {
    for (const turn of this.#turns) {
      if (turn.tenantId !== tenantId || turn.ending.signal.aborted) continue;
      const digests = new Map<Selection, Buffer | null>();
      if (stops.some((stop) => ends(stop, turn, { now, digests }))) turn.ending.abort(new RunStopped());
    }
  }

  #prune(now: number): void {
    if (now - this.#prunedAt < pruneHoldsMs) return;
    this.#prunedAt = now;
    for (const [tenantId, holds] of this.#holds) {
      for (const [key, { until }] of holds) if (until <= now) holds.delete(key);
      if (holds.size === 0) this.#holds.delete(tenantId);
    }
  }
}

/** Whether a stop ends a turn. `digests`: those of the turn, each made once. */
function ends(
  { runId, selected, leftMs, ageMs }: Stop,
  turn: OpenTurn,
  { now, digests }: { now: number; digests: Map<Selection, Buffer | null> },
): boolean {
  if (runId !== null) return runId === turn.runId;
  // A younger turn ends only while its request would be refused.
  if (selected === null || (leftMs <= 0 && now - turn.arrivedAt < ageMs)) return false;
  const { selection, digest } = selected;
  const known = digests.get(selection);
  const turnDigest = known === undefined ? digestBy(selection, turn) : known;
  digests.set(selection, turnDigest);
  return turnDigest?.equals(digest) === true;
}

function keyOf({ selection, digest }: Selected): string {
  return `${selection} ${digest.toString('base64url')}`;
}
