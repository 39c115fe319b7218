import type { Part, TextPart, Tool, Turn } from './conversation.ts';

/** Turns in the order that Anthropic's messages and Bedrock's Converse want. */

/**
 * Results must come right behind their calls, in one message and before all else in it. Turns of the user that follow one
 * another become one.
 */
export function orderedTurns(turns: readonly Turn[]): Turn[] {
  const written: Turn[] = [];
  let group: Turn[] = [];
  const end = (): void => {
    written.push(...orderedGroup(group));
    group = [];
  };
  for (const turn of turns.map(withoutEmpty)) {
    if (turn.parts.length === 0) continue;
    if (turn.role !== 'assistant') group.push(turn);
    else {
      end();
      written.push(turn);
    }
  }
  end();
  return written;
}

/** Turns between two of the model. */
function orderedGroup(group: readonly Turn[]): Turn[] {
  const results = group.flatMap(({ parts }) => parts.filter(({ kind }) => kind === 'result'));
  const turns: Turn[] = results.length === 0 ? [] : [{ role: 'user', parts: results }];
  for (const { role, parts } of group) {
    const others = parts.filter(({ kind }) => kind !== 'result');
    const last = turns.at(-1);
    if (others.length === 0) continue;
    if (last?.role === role) last.parts.push(...others);
    else turns.push({ role, parts: others });
  }
  return turns;
}

/** Empty texts are refused. */
function withoutEmpty(turn: Turn): Turn {
  return { ...turn, parts: turn.parts.filter((part) => !isEmpty(part)) };
}

export function isEmpty(part: Part): boolean {
  return (part.kind === 'text' || part.kind === 'refusal') && part.text.trim() === '';
}

/** System texts at the beginning have a field of their own. A request of nothing else has them as its message. */
export function splitSystem(turns: readonly Turn[]): { system: TextPart[]; messages: readonly Turn[] } {
  const found = turns.findIndex(({ role }) => role !== 'system');
  const first = found < 0 ? Math.max(0, turns.length - 1) : found;
  const system = turns.slice(0, first).flatMap(({ parts }) => parts.filter((part) => part.kind === 'text'));
  const messages = turns.slice(first);
  const [only] = messages;
  return messages.length === 1 && only?.role === 'system'
    ? { system, messages: [{ ...only, role: 'user' }] }
    : { system, messages };
}

/** Definitions for the calls of a conversation whose client brings none any more: a conversation with calls needs some. */
export function calledTools(turns: readonly Turn[]): Tool[] {
  const calls = turns.flatMap(({ parts }) => parts.filter((part) => part.kind === 'call'));
  return [...new Set(calls.map(({ name }) => name))].map((name) => ({
    ...{ name, namespace: null, description: null, schemaJson: null },
    ...{ isFreeform: false, isStrict: null },
  }));
}
