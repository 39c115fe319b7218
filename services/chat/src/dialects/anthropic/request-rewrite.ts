import { openBrace, openBracket, quote, skipSpace } from '@gatehouse/kit/json-bytes';
import { applyChanges, removeFrom, type Changes, type Edit } from '../../wire/json-edits.ts';
import { elementsOf, elementStart, named, objectMembers, type Member } from '../../wire/json-members.ts';
import { addParameters } from '../added-parameters.ts';
import { addTools } from '../added-tools.ts';
import type { Rewrite } from '../dialect.ts';
import { asAnthropic, samplingNames } from './defaults.ts';

/**
 * Applies the rewrite to the source text of a request that is a valid JSON object, whose members may be known. `thinks`:
 * whether the client lets the model think, beside which an agent's sampling is refused. `marked`: blocks that the provider
 * does not get.
 */
export function rewriteRequest(
  body: Buffer,
  rewrite: Rewrite & { thinks: boolean; marked?: Marked },
  members: readonly Member[] = objectMembers(body),
): Buffer {
  const changes: Changes = { edits: [], added: [] };
  const { edits } = changes;
  // Parsers differ in which of two equal names they take, so every one of them is replaced.
  for (const { valueStart: at, valueEnd: until } of named(members, 'model'))
    edits.push({ at, until, text: JSON.stringify(rewrite.model) });
  if (rewrite.isTranslated !== true && rewrite.marked !== undefined)
    removeMarked(body, members, rewrite.marked, edits);
  if (rewrite.systemPrompt !== null) addSystem(body, members, rewrite.systemPrompt, changes);
  if (rewrite.reference !== null) addReference(body, members, rewrite.reference, edits);
  const choiceText = (type: 'auto' | 'none', given: Member | null): string => {
    const serial = type === 'auto' && given !== null && isSerial(body, given.valueStart);
    return JSON.stringify({ type, ...(serial && { disable_parallel_tool_use: true }) });
  };
  if (rewrite.tools !== null) addTools({ body, members, choiceText }, rewrite.tools, changes);
  addDefaults(body, members, rewrite, changes);
  return applyChanges(body, members, changes);
}

/** Places of blocks by the places of their messages. */
type Marked = ReadonlyMap<number, ReadonlySet<number>>;

/** Takes blocks out of messages. */
function removeMarked(body: Buffer, members: readonly Member[], marked: Marked, edits: Edit[]): void {
  const [messages] = named(members, 'messages').slice(-1);
  if (marked.size === 0 || messages === undefined) return;
  let index = 0;
  for (const at of elementsOf(body, messages.valueStart)) {
    const places = marked.get(index);
    index += 1;
    if (places === undefined) continue;
    const [content] = named(objectMembers(body, { from: at }), 'content').slice(-1);
    if (content !== undefined) removeFrom(body, content, places, edits);
  }
}

/** Puts the agent's prompt before the system text of the client. */
function addSystem(
  body: Buffer,
  members: readonly Member[],
  prompt: string,
  { edits, added }: Changes,
): void {
  const systems = named(members, 'system');
  if (systems.length === 0) added.push(`"system":${JSON.stringify(prompt)}`);
  for (const { valueStart, valueEnd } of systems) {
    if (body[valueStart] === quote) {
      const text = JSON.stringify(valueEnd - valueStart > 2 ? `${prompt}\n\n` : prompt).slice(1, -1);
      edits.push({ at: valueStart + 1, until: valueStart + 1, text });
    } else if (body[valueStart] === openBracket) {
      const at = valueStart + 1;
      const isEmpty = skipSpace(body, at) === valueEnd - 1;
      edits.push({ at, until: at, text: `${textBlock(prompt)}${isEmpty ? '' : ','}` });
    } else edits.push({ at: valueStart, until: valueEnd, text: JSON.stringify(prompt) });
  }
}

/**
 * Puts a block before the first text of a message of the user: results of tools must come first in it. The index is of
 * the list that `JSON.parse` takes: the last one.
 */
function addReference(
  body: Buffer,
  members: readonly Member[],
  { index, content }: { index: number; content: string },
  edits: Edit[],
): void {
  const [messages] = named(members, 'messages').slice(-1);
  const message = elementStart(body, messages?.valueStart ?? 0, index);
  const [own] = named(objectMembers(body, { from: message }), 'content').slice(-1);
  if (own === undefined) return;
  const { valueStart, valueEnd } = own;
  const block = textBlock(content);
  if (body[valueStart] === quote) {
    edits.push({ at: valueStart, until: valueStart, text: `[${block},{"type":"text","text":` });
    edits.push({ at: valueEnd, until: valueEnd, text: '}]' });
    return;
  }
  for (const at of elementsOf(body, valueStart)) {
    if (!isText(body, at)) continue;
    edits.push({ at, until: at, text: `${block},` });
    return;
  }
}

/** Each letter may be escaped. */
const maxTypeBytes = 64;

/** Whether the object at a place is a text block. */
function isText(body: Buffer, at: number): boolean {
  if (body[at] !== openBrace) return false;
  const [type] = named(objectMembers(body, { from: at }), 'type').slice(-1);
  if (type === undefined || type.valueEnd - type.valueStart > maxTypeBytes) return false;
  return JSON.parse(body.toString('utf8', type.valueStart, type.valueEnd)) === 'text';
}

function textBlock(text: string): string {
  return JSON.stringify({ type: 'text', text });
}

/** Whether the client's choice of tools allows one call at a time. */
function isSerial(body: Buffer, at: number): boolean {
  if (body[at] !== openBrace) return false;
  const [given] = named(objectMembers(body, { from: at }), 'disable_parallel_tool_use').slice(-1);
  return given !== undefined && body.toString('latin1', given.valueStart, given.valueEnd) === 'true';
}

/** Adds the agent's parameters that the client does not name, and lowers the limit of the answer. */
function addDefaults(
  body: Buffer,
  members: readonly Member[],
  { defaults, maxTokens, thinks }: Rewrite & { thinks: boolean },
  changes: Changes,
): void {
  const given = new Set(members.map(({ name }) => name));
  const samples = samplingNames.some((name) => given.has(name));
  const own = Object.entries(asAnthropic(defaults)).filter(
    ([name]) => !given.has(name) && !((samples || thinks) && samplingNames.includes(name)),
  );
  addParameters({ body, members, own, limitName: 'max_tokens' }, maxTokens, changes);
}
