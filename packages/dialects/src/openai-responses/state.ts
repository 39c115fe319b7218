import { isFields } from '@gatehouse/kit/fields';
import { openBrace, openBracket, quote, skipSpace } from '@gatehouse/kit/json-bytes';
import { applyChanges, applyEdits, removeFrom, type Changes, type Edit } from '../wire/json-edits.ts';
import { elementsOf, named, objectMembers, valueEnd, type Member } from '../wire/json-members.ts';
import type { StateFormat } from '../state-format.ts';
import { ClientView } from './client-view.ts';
import { dataOf, eventOf, frameOf, isEnd } from './events.ts';
import { isCompaction, isEmptyThought, sealedSummary, summaryMessage, triggerType } from './items.ts';
import { streamFrames } from './response-mode.ts';

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

function withItems(body: Buffer, items: ReadonlyMap<number, Buffer | number | null>): Buffer {
  const input = inputIn(objectMembers(body));
  const starts = [...elementsOf(body, input.valueStart)];
  const textAt = (place: number): Buffer => {
    const start = starts[place] ?? input.valueEnd;
    return body.subarray(start, valueEnd(body, start));
  };
  const edits: Edit[] = [];
  for (const [place, item] of items) {
    const at = starts[place];
    if (at === undefined || item === null) continue;
    edits.push({ at, until: valueEnd(body, at), text: typeof item === 'number' ? textAt(item) : item });
  }
  const gone = [...items].filter(([, item]) => item === null).map(([place]) => place);
  removeFrom(body, input, new Set(gone), edits);
  return applyEdits(body, edits).whole;
}

/** The bytes of the response in the last event. */
function endOf(frames: readonly Buffer[]): Buffer | null {
  for (const frame of frames) {
    const event = eventOf(frame);
    if (event === null || !isEnd(event.type)) continue;
    const at = dataOf(frame);
    // Data in several lines is one value only once they are joined.
    if (at === null) return endOf([frameOf({ ...event.fields, type: event.type })]);
    const response = objectMembers(frame, { from: at }).findLast(({ name }) => name === 'response');
    if (response !== undefined && frame[response.valueStart] === openBrace)
      return frame.subarray(response.valueStart, response.valueEnd);
  }
  return null;
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
  endOf,
  shown: (answer, { encrypted, tenantId }) =>
    new ClientView({
      ...{ store: false, encrypted, systemPrompt: null, toolNames: new Set<string>(), kept: null },
    }).whole(answer, tenantId),
  streamFrames,
};
