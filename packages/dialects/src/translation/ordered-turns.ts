import { messagesIds, withFittingIds } from './call-ids.ts';
import type { Part, TextPart, Tool, Turn, ResultPart } from './conversation.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';

/** Turns in the order for Anthropic's messages and Bedrock's Converse. */

/** The turns with fitting ids, in order, and with the thoughts `origin` takes back. */
export function* ownTurns(turns: readonly Turn[], origin: string): Steps<Turn[]> {
  const fitting = yield* withFittingIds(turns, messagesIds);
  return orderedTurns(fitting.map((turn) => withOwnThoughts(turn, origin)));
}

/**
 * Results come right behind their calls, in one message and before all else in it. Successive turns of one side become
 * one, but for those of the model. Empty turns are refused.
 */
export function orderedTurns(turns: readonly Turn[]): Turn[] {
  const written: Turn[] = [];
  for (const { role, parts } of withResultsBehindCalls(turns)) {
    const last = written.at(-1);
    if (parts.length === 0) continue;
    if (role !== 'assistant' && last?.role === role) last.parts.push(...parts);
    else written.push({ role, parts: [...parts] });
  }
  return written;
}

/** The thoughts of a turn for their origin: its own, without those behind all other parts of the turn. */
function withOwnThoughts(turn: Turn, origin: string): Turn {
  const parts = turn.parts.filter((part) => part.kind !== 'thinking' || part.signature?.origin === origin);
  const last = parts.findLastIndex(({ kind }) => kind !== 'thinking');
  return { ...turn, parts: parts.slice(0, last + 1) };
}

/** Ordered turns without their thoughts, where the model does not take them back. */
function withoutThoughts(turns: readonly Turn[]): readonly Turn[] {
  if (!turns.some(({ parts }) => parts.some(isThought))) return turns;
  return orderedTurns(
    turns.map((turn) => ({ ...turn, parts: turn.parts.filter((part) => !isThought(part)) })),
  );
}

function isThought({ kind }: Part): boolean {
  return kind === 'thinking';
}

/**
 * The messages of ordered turns. System texts at the beginning have a field of their own; a request of nothing else has them
 * as its message.
 */
export function splitSystem(
  ordered: readonly Turn[],
  { keepsThoughts }: { keepsThoughts: boolean },
): { system: TextPart[]; messages: readonly Turn[] } {
  const turns = keepsThoughts ? ordered : withoutThoughts(ordered);
  const first = firstMessage(turns);
  const system = turns.slice(0, first).flatMap(({ parts }) => parts.filter((part) => part.kind === 'text'));
  const messages = turns.slice(first);
  const [only] = messages;
  return messages.length === 1 && only?.role === 'system'
    ? { system, messages: [{ ...only, role: 'user' }] }
    : { system, messages };
}

/**
 * Definitions for the calls of a conversation from a client without definitions any more: a conversation with calls
 * needs some.
 */
export function calledTools(turns: readonly Turn[]): Tool[] {
  const calls = turns.flatMap(({ parts }) => parts.filter((part) => part.kind === 'call'));
  return [...new Set(calls.map(({ name }) => name))].map((name) => ({
    ...{ name, namespace: null, description: null, schemaJson: null },
    ...{ isFreeform: false, isStrict: null },
  }));
}

/**
 * Puts results of calls right behind the turn with these, in their order, as most APIs want them. All else between them
 * follows. `turns`: with ids without duplicates.
 */
export function withResultsBehindCalls(turns: readonly Turn[]): Turn[] {
  const results = resultsOfCalls(turns);
  const moved = new Set<Part>([...results.values()].flat());
  const written: Turn[] = [];
  /** The turn of results written last, as long as nothing follows it. */
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

/** The index of the first turn behind system texts, of which the last one counts where nothing follows. */
export function firstMessage(turns: readonly Turn[]): number {
  const first = turns.findIndex(({ role }) => role !== 'system');
  return first < 0 ? Math.max(0, turns.length - 1) : first;
}
