import { isFields } from '@gatehouse/kit/fields';
import { openBrace, openBracket, quote } from '@gatehouse/kit/json-bytes';
import { applyEdits, removeFrom, type Edit } from '../../wire/json-edits.ts';
import { elementsOf, named, objectMembers, valueEnd, type Member } from '../../wire/json-members.ts';
import type { StateFormat } from '../state-format.ts';
import { AskedView } from './asked-view.ts';
import { dataOf, eventOf, frameOf, isEnd } from './events.ts';
import { isEmptyThought } from './items.ts';
import { framesOf } from './other-kind.ts';

/** The input of a request that was read: its last member of that name counts. */
function inputIn(members: readonly Member[]): Member {
  const input = members.findLast(({ name }) => name === 'input');
  if (input === undefined) throw new Error('the request has no input');
  return input;
}

const userMessage = '{"type":"message","role":"user","content":';

function inputOf(body: Buffer): Buffer {
  const { valueStart, valueEnd: end } = inputIn(objectMembers(body));
  const value = body.subarray(valueStart, end);
  return body[valueStart] === quote
    ? Buffer.concat([Buffer.from(`[${userMessage}`), value, Buffer.from('}]')])
    : Buffer.from(value);
}

function continued(body: Buffer, earlier: readonly Buffer[]): Buffer {
  const members = objectMembers(body);
  const { valueStart, valueEnd: end } = inputIn(members);
  const items = earlier.flatMap((item) => [item, ',']);
  const edits: Edit[] = [];
  for (const { valueStart: at, valueEnd: until } of named(members, 'previous_response_id'))
    edits.push({ at, until, text: 'null' });
  if (body[valueStart] === openBracket) {
    const at = valueStart + 1;
    edits.push({ at, until: at, text: items });
  } else {
    edits.push({ at: valueStart, until: valueStart, text: ['[', ...items, userMessage] });
    edits.push({ at: end, until: end, text: '}]' });
  }
  return applyEdits(body, edits);
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
  return applyEdits(body, edits);
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

/** Responses that go on from others: their items stand in the gateway, and are put before the input of each request. */
export const state: StateFormat = {
  inputOf,
  continued,
  withItems,
  goesOn: (item, sameProvider) =>
    !isFields(item) || item['type'] !== 'reasoning' || (sameProvider && !isEmptyThought(item)),
  endOf,
  shown: (answer, { encrypted, tenantId }) =>
    new AskedView({
      ...{ store: false, encrypted, systemPrompt: null, toolNames: new Set<string>(), kept: null },
    }).whole(answer, tenantId),
  framesOf,
};
