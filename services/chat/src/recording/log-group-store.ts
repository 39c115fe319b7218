import {
  chargingCosts,
  deadLettering,
  keepingOrigins,
  raisingAlerts,
  refusalOf,
  showingKept,
  storingAnswers,
  writingEvents,
  type ChargedCost,
  type WaitingEvent,
} from './end-parts-system-store.ts';
import { chargesByBudgets } from '../runs/charge.ts';
import type { AwaitedEnd, LoggedRun, LoggedStart } from './logged-run.ts';
import { givingUp, trimmingTo, type LogRow } from './run-log-system-store.ts';

/** A call about to be made, of which the first one starts its run. */
export interface Start {
  run: LoggedRun;
  logged: LoggedStart;
  first: boolean;
  resolve: () => void;
  reject: (error: unknown) => void;
}

export interface End extends AwaitedEnd {
  run: LoggedRun;
}

/** Events of one row, published by its process. */
export interface PublishedRow {
  log: RowOwner;
  /** Null for start events, which no row waits for. */
  sequence: number | null;
  runs: readonly LoggedRun[];
  events: readonly WaitingEvent[];
  /** By the monotonic clock. */
  since: number;
}

/** Hears what became of the events of a row. */
export interface RowOwner {
  published(row: PublishedRow): void;
  /** They can't be published from here. */
  spill(row: PublishedRow): void;
}

/** The content of one row of a log, and of its transaction besides. */
export interface Group {
  sequence: number;
  starts: readonly Start[];
  ends: readonly End[];
  /** Whether this process publishes the ends once they are committed; else the transaction writes their events. */
  publishes: boolean;
  /** Rows with events for the outbox after all. */
  spilled: readonly PublishedRow[];
  /** Runs this process will not end. */
  givenUp: readonly LoggedRun[];
  carried: readonly LoggedRun[];
  trimTo: number | null;
  /** The reason why the outbox refuses the events: they become dead letters of it. */
  refusal?: string;
}

/** The parts of a group, each alone: of rows each run. */
export function partsOf(group: Group): Group[] {
  const { starts, ends, spilled, givenUp, carried, trimTo } = group;
  return [
    ...(carried.length > 0 || trimTo !== null ? [{ carried, trimTo }] : []),
    ...starts.map((start) => ({ starts: [start] })),
    ...ends.map((end) => ({ ends: [end] })),
    ...spilled.flatMap(runsApart).map((row) => ({ spilled: [row] })),
    ...givenUp.map((run) => ({ givenUp: [run] })),
  ].map((part) => only(group, part));
}

function runsApart(row: PublishedRow): PublishedRow[] {
  return row.runs.map((run, index) => ({ ...row, runs: [run], events: row.events.slice(index, index + 1) }));
}

/** Group of one run with an event the outbox may refuse, with a dead letter in its place. */
export function deadLettersOf(group: Group, error: unknown): Group[] {
  const hasEvent = group.spilled.length > 0 || (group.ends.length > 0 && !group.publishes);
  if (!hasEvent || group.refusal !== undefined) return [];
  return [{ ...group, refusal: refusalOf(error) }];
}

/** A group with these parts alone. */
export function only(group: Group, parts: Partial<Group>): Group {
  const none = { starts: [], ends: [], spilled: [], givenUp: [], carried: [], trimTo: null };
  return { ...group, ...none, ...parts };
}

export function withoutStarts(group: Group): Group {
  return { ...group, starts: [] };
}

/** These starts are not written, so their runs have no end. */
export function settleUnstarted(starts: readonly Start[]): void {
  for (const { run, first } of starts) {
    if (!first) continue;
    run.state = 'over';
    run.earlyEnd?.resolve();
    run.earlyEnd = null;
  }
}

/** Settles a group and what waits for it. The group's starts may be written already: ends of their runs are lost. */
export function abandon(group: Group, waiting: Pick<Group, 'starts' | 'ends'>, error: unknown): void {
  const early = group.starts.flatMap(({ run }) => run.earlyEnd ?? []);
  for (const { reject } of [...group.ends, ...early, ...waiting.ends, ...waiting.starts]) reject(error);
  settleUnstarted([...group.starts, ...waiting.starts]);
}

/** The rest of a group with unwritten starts. */
export function unwritten(group: Group): Group {
  settleUnstarted(group.starts);
  return withoutStarts(group);
}

/** Whether there is more in it than starts. */
export function hasMore({ ends, spilled, givenUp, carried, trimTo }: Group): boolean {
  return ends.length + spilled.length + givenUp.length + carried.length > 0 || trimTo !== null;
}

/** Runs of a group written later than they began. */
export function lateRuns({ ends, spilled, carried, givenUp }: Group): LoggedRun[] {
  return [...ends.map(({ run }) => run), ...spilled.flatMap(({ runs }) => runs), ...carried, ...givenUp];
}

export function rowOf(group: Group, log: { instanceId: string; published: number }): LogRow {
  const { starts, ends, publishes, givenUp, trimTo, refusal } = group;
  // Few ends have more than a record.
  const rows = ends.filter(hasParts).map(({ run, row }) => ({
    ...row,
    startedAt: run.startedAt,
    ...(run.forgotten && { signatures: [] }),
  }));
  const events = [
    ...(publishes ? [] : ends.map(({ run }) => eventOf(run, 'now'))),
    ...group.spilled.flatMap(spilledEvents),
  ];
  return {
    ...{ ...log, sequence: group.sequence },
    starts: [...starts.map(({ logged }) => logged), ...carriedStarts(group)],
    ends: [...ends.map(({ run }) => run.end(publishes)), ...givenUp.map((run) => run.end(false))],
    late: lateRuns(group).flatMap(({ late }) => late),
    parts: [
      ...(refusal === undefined ? writingEvents(events) : deadLettering(events, refusal)),
      ...chargingCosts(ends.flatMap(costsOf)),
      ...storingAnswers(rows),
      ...showingKept(rows),
      ...keepingOrigins(rows),
      ...raisingAlerts(rows),
      ...givingUp(givenUp.map(({ start }) => start)),
      ...(trimTo === null ? [] : [trimmingTo(trimTo)]),
    ],
  };
}

/** A run written again together with a further call has the call. */
function carriedStarts({ starts, carried }: Group): LoggedStart[] {
  if (carried.length === 0) return [];
  const calls = new Map(starts.flatMap(({ first, logged }) => (first ? [] : [[logged.id, logged.attempts]])));
  return carried.map(({ start }) => ({ ...start, attempts: calls.get(start.id) ?? start.attempts }));
}

function hasParts({ row: { answer, keeps, alerts = [], signatures = [] } }: End): boolean {
  return answer !== undefined || keeps === true || alerts.length + signatures.length > 0;
}

/** Anew, since users may have been forgotten since they were made. */
function spilledEvents({ runs, events }: PublishedRow): WaitingEvent[] {
  return runs.map((run, index) => eventOf(run, events[index]?.endedAt ?? null));
}

/** The event of a run, as the outbox holds it. */
export function eventOf(run: LoggedRun, endedAt: WaitingEvent['endedAt']): WaitingEvent {
  return {
    runId: run.id,
    tenantId: run.tenantId,
    startedAt: run.startedAt,
    endedAt,
    data: run.data(endedAt !== null),
  };
}

function costsOf({ run: { id, tenantId, charges: first }, row }: End): ChargedCost[] {
  return chargesByBudgets(row.end, row.attempts).flatMap(({ charges, costPico }) => {
    const budgets = charges ?? first;
    return budgets === null ? [] : [{ runId: id, tenantId, charges: budgets, costPico }];
  });
}
