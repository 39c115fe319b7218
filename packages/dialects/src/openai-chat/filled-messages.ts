import { closeBracket, openBrace, openBracket, quote, skipSpace } from '@gatehouse/kit/json-bytes';
import { fillingText, listedObjects, wordOf, type ReasoningFill } from '../reasoning-rewrite.ts';
import { applyEdits, removeMembers, type Edit } from '../wire/json-edits.ts';
import { named, type Member } from '../wire/json-members.ts';

const field = 'reasoning_content';

/**
 * Fills in the missing reasoning of the assistant's messages, for a server that has refused to miss it: Kimi and DeepSeek
 * want it beside calls, also those of other models (https://github.com/MoonshotAI/kimi-cli/issues/2141), other servers
 * refuse it. A list too long to be walked over stays.
 */
export function fillMessages(
  body: Buffer,
  messages: Pick<Member, 'valueStart' | 'valueEnd'>,
  fill: ReasoningFill,
): Edit[] {
  const edits: Edit[] = [];
  for (const { members } of listedObjects(body, messages) ?? [])
    if (wordOf(body, members, 'role') === 'assistant') edits.push(...filledMessage(body, members, fill));
  return edits;
}

/** The same for messages that the gateway adds, each a JSON text. */
export function filledMessages(
  messages: readonly string[],
  fill: ReasoningFill | undefined,
): readonly string[] {
  if (fill === undefined || messages.length === 0) return messages;
  const list = Buffer.from(`[${messages.join(',')}]`);
  const edits = fillMessages(list, { valueStart: 0, valueEnd: list.length }, fill);
  return [applyEdits(list, edits).whole.toString('utf8').slice(1, -1)];
}

function filledMessage(body: Buffer, members: readonly Member[], fill: ReasoningFill): Edit[] {
  const edits: Edit[] = [];
  if (fill === 'none') {
    removeMembers(members, new Set([field]), edits);
    return edits;
  }
  const text = fillingText(fill, hasCalls(body, members));
  const last = members.at(-1);
  if (text === null || last === undefined) return edits;
  const thoughts = named(members, field);
  const filling = JSON.stringify(text);
  if (thoughts.length === 0)
    edits.push({ at: last.valueEnd, until: last.valueEnd, text: `,"${field}":${filling}` });
  for (const { valueStart: at, valueEnd: until } of thoughts)
    if (body[at] !== quote || until - at === 2) edits.push({ at, until, text: filling });
  return edits;
}

function hasCalls(body: Buffer, members: readonly Member[]): boolean {
  return members.some(({ name, valueStart }) => {
    if (name === 'function_call') return body[valueStart] === openBrace;
    const isList = name === 'tool_calls' && body[valueStart] === openBracket;
    return isList && body[skipSpace(body, valueStart + 1)] !== closeBracket;
  });
}
