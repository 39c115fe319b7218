import type { Conversation, Part, TextPart, Tool, Turn } from '../conversation.ts';
import type { ModelFacts } from '../api.ts';
import { messagesIds, withFittingIds } from '../call-ids.ts';
import { RawJson, writeJson } from '../json-text.ts';
import type { LeftOut } from '../left-out.ts';
import { blockOf } from './content-writer.ts';
import { thinkingOf } from './thinking.ts';

/** For models whose catalogue entry gives none: the API requires one, and all but its oldest models take this. */
const otherwiseTokens = 8_192;

/** See `RequestApi`. */
export function writeRequest(conversation: Conversation, facts: ModelFacts, left: LeftOut): string {
  const { output, stop, maxTokens, stream } = conversation;
  if (output?.kind === 'json')
    throw left.refusedField('output', 'The model answers in JSON by a schema only.');
  const most = facts.maxOutputTokens ?? Infinity;
  const limit = Math.min(maxTokens ?? facts.maxOutputTokens ?? otherwiseTokens, most);
  const turns = ordered(withFittingIds(conversation.turns, messagesIds));
  const { thinking, effort } = thinkingOf({ ...conversation, turns }, { facts, limit, left });
  const isThinking = thinking !== null && thinking['type'] !== 'disabled';
  const { system, messages } = splitSystem(turns);
  const format = output !== null && { type: 'json_schema', schema: new RawJson(output.schemaJson) };
  return writeJson({
    model: facts.name,
    max_tokens: limit,
    ...(system.length > 0 && { system: system.map(({ text }) => ({ type: 'text', text })) }),
    messages: messages.map((turn) => messageOf(turn, { keepsThoughts: isThinking, left })),
    ...(thinking !== null && { thinking }),
    ...(stop.length > 0 && { stop_sequences: stop }),
    ...samplingOf(conversation, { isThinking, facts, left }),
    ...toolsOf(conversation, left),
    ...((format || effort !== null) && {
      output_config: { ...(effort !== null && { effort }), ...(format && { format }) },
    }),
    ...(stream && { stream }),
  });
}

/**
 * Results must come right behind their calls, in one message and before all else in it. Turns of the user that follow one
 * another become one.
 */
function ordered(turns: readonly Turn[]): Turn[] {
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

function isEmpty(part: Part): boolean {
  return (part.kind === 'text' || part.kind === 'refusal') && part.text.trim() === '';
}

/** System texts at the beginning have a field of their own. A request of nothing else has them as its message. */
function splitSystem(turns: readonly Turn[]): { system: TextPart[]; messages: readonly Turn[] } {
  const found = turns.findIndex(({ role }) => role !== 'system');
  const first = found < 0 ? Math.max(0, turns.length - 1) : found;
  const system = turns.slice(0, first).flatMap(({ parts }) => parts.filter((part) => part.kind === 'text'));
  const messages = turns.slice(first);
  const [only] = messages;
  return messages.length === 1 && only?.role === 'system'
    ? { system, messages: [{ ...only, role: 'user' }] }
    : { system, messages };
}

function messageOf(
  { role, parts }: Turn,
  options: { keepsThoughts: boolean; left: LeftOut },
): { role: string; content: unknown[] } {
  return { role, content: parts.flatMap((part) => blockOf(part, options)) };
}

function samplingOf(
  { sampling }: Conversation,
  { isThinking, facts, left }: { isThinking: boolean; facts: ModelFacts; left: LeftOut },
): object {
  const { temperature, topP, topK, ...others } = sampling;
  for (const name of ['seed', 'presencePenalty', 'frequencyPenalty'] as const)
    if (others[name] !== null) left.ignoreField(name);
  const taken = facts.sampling && !isThinking;
  const isTaken = { temperature: taken, topP: taken && temperature === null, topK: taken };
  if (temperature !== null && !isTaken.temperature) left.ignoreField('temperature');
  if (topP !== null && !isTaken.topP) left.ignoreField('topP');
  if (topK !== null && !isTaken.topK) left.ignoreField('topK');
  return {
    // OpenAI takes up to 2.
    ...(temperature !== null && isTaken.temperature && { temperature: Math.min(1, temperature) }),
    ...(topP !== null && isTaken.topP && { top_p: topP }),
    ...(topK !== null && isTaken.topK && { top_k: topK }),
  };
}

const emptySchema = new RawJson('{"type":"object","properties":{}}');

function toolsOf({ tools, choice, parallel, turns }: Conversation, left: LeftOut): object {
  // A conversation with calls needs definitions.
  if (tools.length === 0)
    return hasCalls(turns) ? { tools: calledTools(turns), tool_choice: { type: 'none' } } : {};
  const serial = parallel === false && choice !== 'none' && { disable_parallel_tool_use: true };
  const type = choice ?? (serial ? 'auto' : null);
  if (parallel === false && !serial) left.ignoreField('parallel');
  return {
    tools: tools.map(writeTool),
    ...(type !== null && { tool_choice: { ...choiceOf(type), ...serial } }),
  };
}

function writeTool({ name, description, schemaJson, isStrict }: Tool): object {
  return {
    name,
    ...(description !== null && { description }),
    input_schema: schemaJson === null ? emptySchema : new RawJson(schemaJson),
    ...(isStrict === true && { strict: true }),
  };
}

function choiceOf(choice: NonNullable<Conversation['choice']>): object {
  if (choice === 'auto' || choice === 'none') return { type: choice };
  return choice === 'required' ? { type: 'any' } : { type: 'tool', name: choice.name };
}

function hasCalls(turns: readonly Turn[]): boolean {
  return turns.some(({ parts }) => parts.some(({ kind }) => kind === 'call'));
}

/** Definitions for the calls of a conversation whose client brings none any more. */
function calledTools(turns: readonly Turn[]): object[] {
  const calls = turns.flatMap(({ parts }) => parts.filter((part) => part.kind === 'call'));
  return [...new Set(calls.map(({ name }) => name))].map((name) => ({ name, input_schema: emptySchema }));
}
