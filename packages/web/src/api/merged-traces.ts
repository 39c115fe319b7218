import type { Trace } from '@gatehouse/contract/traces';
import { mostRows } from '../bounds.ts';

/** The held runs with later states of them, newest first. */
export function merged(held: readonly Trace[], changed: readonly Trace[]): Trace[] {
  const byId = new Map([...held, ...changed].map((trace) => [trace.id, trace]));
  return [...byId.values()]
    .sort((one, other) => (one.started_at < other.started_at ? 1 : -1))
    .slice(0, mostRows);
}
