import type { Part, ResultPart, Turn } from './conversation.ts';

/**
 * Puts results of calls right behind the turn with these, in their order, as most APIs want them. All else that stood between
 * follows. `turns`: with ids that differ.
 */
export function withResultsBehindCalls(turns: readonly Turn[]): Turn[] {
  const results = resultsOfCalls(turns);
  const moved = new Set<Part>([...results.values()].flat());
  const written: Turn[] = [];
  /** The turn of results that was written last, as long as nothing follows it. */
  let open: Turn | null = null;
  for (const { role, parts } of turns) {
    const remaining = parts.filter((part) => !moved.has(part));
    if (remaining.length === 0 && parts.length > 0) continue;
    if (role === 'user' && open !== null) open.parts.push(...remaining);
    else written.push({ role, parts: remaining });
    if (role !== 'user') open = null;
    if (role !== 'assistant') continue;
    const behind = remaining.flatMap((part) => (part.kind === 'call' ? (results.get(part.id) ?? []) : []));
    if (behind.length > 0) written.push((open = { role: 'user', parts: behind }));
  }
  return written;
}

/** Results by the ids of their calls, which stand before them. */
function resultsOfCalls(turns: readonly Turn[]): ReadonlyMap<string, ResultPart[]> {
  const results = new Map<string, ResultPart[]>();
  for (const part of turns.flatMap(({ parts }) => parts)) {
    if (part.kind === 'call') results.set(part.id, []);
    else if (part.kind === 'result') results.get(part.callId)?.push(part);
  }
  return results;
}
