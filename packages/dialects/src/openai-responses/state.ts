import { AppError } from '@gatehouse/kit/errors';
import { isFields } from '@gatehouse/kit/fields';
import { maxNamedBytes } from '../bounds.ts';
import { openBrace, openBracket, quote, skipSpace } from '@gatehouse/kit/json-bytes';
import { applyChanges, applyEdits, removeFrom, type Changes, type Edit } from '../wire/json-edits.ts';
import { elementsOf, named, objectMembers, valueEnd, type Member } from '../wire/json-members.ts';
import type { StateFormat } from '../state-format.ts';
import { ClientView } from './client-view.ts';
import { eventOf, isEnd } from './events.ts';
import { isCompaction, isEmptyThought, sealedSummary, summaryMessage, triggerType } from './items.ts';
import { streamFrames } from './response-mode.ts';
import { dataOf, frameData, frameEvent } from '../wire/sse-frames.ts';

/** The input of a request with one: the last member of this name counts. */
function inputIn(members: readonly Member[]): Member {
  const input = members.findLast(({ name }) => name === 'input');
  if (input === undefined) throw new Error('the request has no input');
  return input;
}

const userMessage = '{"type":"message","role":"user","content":';

function inputOf(body: Buffer): Buffer[] {
  const { valueStart, valueEnd: end } = inputIn(objectMembers(body));
  const value = body.subarray(valueStart, end);
  return body[valueStart] === quote ? [Buffer.from(`[${userMessage}`), value, Buffer.from('}]')] : [value];
}

function continued(body: Buffer, earlier: readonly Buffer[]): Buffer {
  const members = objectMembers(body);
  const changes: Changes = { edits: [], added: [] };
  const { edits } = changes;
  for (const { valueStart: at, valueEnd: until } of named(members, 'previous_response_id'))
    edits.push({ at, until, text: 'null' });
  const items = earlier.flatMap((item, index) => (index === 0 ? [item] : [',', item]));
  const input = named(members, 'input').at(-1);
  const first = input === undefined ? undefined : body[input.valueStart];
  if (input === undefined) changes.added.push(['"input":[', ...items, ']']);
  else {
    const { valueStart: at, valueEnd: until } = input;
    if (first === openBracket) {
      const isEmpty = skipSpace(body, at + 1) === until - 1;
      edits.push({
        at: at + 1,
        until: at + 1,
        text: isEmpty || items.length === 0 ? items : [...items, ','],
      });
    } else if (first === quote) {
      edits.push({ at, until: at, text: ['[', ...items, items.length === 0 ? '' : ',', userMessage] });
      edits.push({ at: until, until, text: '}]' });
    } else edits.push({ at, until, text: ['[', ...items, ']'] });
  }
  return applyChanges(body, members, changes).whole;
}

function namesTooMuch(): AppError {
  return new AppError('payload_too_large', 'The items that input names by their ids have more than 20 MiB.', {
    param: 'input',
  });
}

function withItems(body: Buffer, items: ReadonlyMap<number, Buffer | number | null>): Buffer {
  const input = inputIn(objectMembers(body));
  const starts = [...elementsOf(body, input.valueStart)];
  const textAt = (place: number): Buffer => {
    const start = starts[place] ?? input.valueEnd;
    return body.subarray(start, valueEnd(body, start));
  };
  const edits: Edit[] = [];
  let bytes = 0;
  for (const [place, item] of items) {
    const at = starts[place];
    if (at === undefined || item === null) continue;
    const text = typeof item === 'number' ? textAt(item) : item;
    bytes += text.length;
    if (bytes > maxNamedBytes) throw namesTooMuch();
    edits.push({ at, until: valueEnd(body, at), text });
  }
  const gone = [...items].filter(([, item]) => item === null).map(([place]) => place);
  removeFrom(body, input, new Set(gone), edits);
  return applyEdits(body, edits).whole;
}

/** The bytes of the response in the last event, with the items of the events before it where it lacks them. */
function endOf(frames: readonly Buffer[]): Buffer | null {
  for (const frame of frames) {
    const event = isItem(frame) ? null : eventOf(frame);
    if (event === null || !isEnd(event.type)) continue;
    const { data, members } = membersIn(frame);
    const response = members.findLast(({ name }) => name === 'response');
    if (response !== undefined && data[response.valueStart] === openBrace)
      return withOutput(data.subarray(response.valueStart, response.valueEnd), frames.filter(isItem));
  }
  return null;
}

/** The members of an event's data, and the bytes they stand in. */
function membersIn(frame: Buffer): { data: Buffer; members: readonly Member[] } {
  const at = dataOf(frame);
  if (at !== null) return { data: frame, members: objectMembers(frame, { from: at }) };
  // Data in several lines is one value only once they are joined.
  const data = Buffer.from(frameData(frame) ?? '{}');
  return { data, members: objectMembers(data) };
}

const itemEnd = 'response.output_item.done';
/** An event has its type near its beginning. */
const typeBytes = 256;

function isItem(frame: Buffer): boolean {
  return frame.subarray(0, typeBytes).includes(itemEnd);
}

/** Some servers end with fewer items than they sent, or with none (openai/codex#24612). */
function withOutput(response: Buffer, itemFrames: readonly Buffer[]): Buffer {
  const members = objectMembers(response);
  const output = named(members, 'output').at(-1);
  const isList = output !== undefined && response[output.valueStart] === openBracket;
  const items = itemsIn(itemFrames);
  if (items.length <= (isList ? [...elementsOf(response, output.valueStart)].length : 0)) return response;
  const list = ['[', ...items.flatMap((item, index) => (index === 0 ? [item] : [',', item])), ']'];
  const changes: Changes =
    output === undefined
      ? { edits: [], added: [['"output":', ...list]] }
      : { edits: [{ at: output.valueStart, until: output.valueEnd, text: list }], added: [] };
  return applyChanges(response, members, changes).whole;
}

/** The items in events, in their places. */
function itemsIn(frames: readonly Buffer[]): Buffer[] {
  const items = new Map<number, Buffer>();
  for (const frame of frames) {
    const { data, members } = membersIn(frame);
    const textAt = (name: string): Buffer => {
      const member = named(members, name).at(-1);
      return member === undefined ? Buffer.alloc(0) : data.subarray(member.valueStart, member.valueEnd);
    };
    const item = textAt('item');
    const index = Number(textAt('output_index').toString('latin1', 0, 16) || NaN);
    const type = textAt('type').toString('latin1', 1, itemEnd.length + 1) || frameEvent(frame);
    if (type === itemEnd && item[0] === openBrace && Number.isInteger(index)) items.set(index, item);
  }
  return [...items].toSorted(([a], [b]) => a - b).map(([, item]) => item);
}

/** Models answer by what users and developers have said, and have summarised the rest. */
const staysBeside: ReadonlySet<unknown> = new Set(['user', 'developer', 'system']);

function goesOn(item: unknown, sameProvider: boolean): boolean {
  if (!isFields(item)) return true;
  if (item['type'] === 'reasoning') return sameProvider && !isEmptyThought(item);
  // Only the provider that compacted a conversation can read the result; all before it stands here.
  if (isCompaction(item)) return sameProvider || sealedSummary(item) !== null;
  return item['type'] !== triggerType;
}

/**
 * Responses as continuations of others: their items stand in the gateway, and are put before the input of each request.
 */
export const state: StateFormat = {
  inputOf,
  continued,
  withItems,
  goesOn,
  summaryIn: (item) => (isFields(item) ? sealedSummary(item) : null),
  summaryItem: (summary) => Buffer.from(JSON.stringify(summaryMessage(summary))),
  isSummary: (item) => isFields(item) && isCompaction(item),
  outlastsSummary: (item) => isFields(item) && staysBeside.has(item['role']),
  isItem,
  endOf,
  shown: (answer, { encrypted, tenantId }) =>
    new ClientView({
      ...{ store: false, encrypted, systemPrompt: null, toolNames: new Set<string>(), kept: null },
    }).whole(answer, tenantId),
  streamFrames,
};
