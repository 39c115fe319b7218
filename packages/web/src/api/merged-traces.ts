import type { Trace } from '@gatehouse/contract/traces';

/** The most runs that a page holds; older ones are forgotten. */
const mostHeld = 200;

/** The held runs with later states of them, newest first. */
export function merged(held: readonly Trace[], changed: readonly Trace[]): Trace[] {
  const byId = new Map([...held, ...changed].map((trace) => [trace.id, trace]));
  return [...byId.values()]
    .sort((one, other) => (one.started_at < other.started_at ? 1 : -1))
    .slice(0, mostHeld);
}
