import { maxInteger, type RunEnded } from '@gatehouse/events/run-event';

/** The stored times of a run. `durationMs` is `endedAt` − `startedAt`, except for runs of more than 24 days. */
export interface RunTimes {
  /** ISO 8601, in UTC. */
  startedAt: string;
  durationMs: number;
}

/**
 * The times of an ended run by one clock; null if its event has no duration. Chat measures the duration, and the offsets
 * of spans, from the arrival of the request by its own clock, and the database takes the times at which start and end
 * are committed. The run then began its duration before its end, or at the time of its start event if that is earlier:
 * a start never moves to a later time, since deletions of users' data go by it.
 */
export function timesOf({
  started_at: start,
  ended_at: end,
  duration_ms: measured,
}: RunTimesEvent): RunTimes | null {
  if (measured === null) return null;
  const endMs = Date.parse(end);
  const startMs = Date.parse(start);
  const durationMs = Math.max(measured, endMs - startMs);
  if (durationMs > maxInteger) return { startedAt: start, durationMs: maxInteger };
  return { startedAt: new Date(endMs - durationMs).toISOString(), durationMs };
}

type RunTimesEvent = Pick<RunEnded, 'started_at' | 'ended_at' | 'duration_ms'>;
