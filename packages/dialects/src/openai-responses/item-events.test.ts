import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import type { Answer, AnswerPart } from '../translation/answer.ts';
import type { OpenPart, WrittenEvent } from '../translation/stream-events.ts';
import { frameData } from '../wire/sse-frames.ts';
import { writeAnswer } from './answer-writer.ts';
import { ResponseWriter } from './event-writer.ts';
import { streamFrames } from './response-mode.ts';

const signature = { origin: 'openai', text: 'enc', isRedacted: false };
const call = { kind: 'call', id: 'call_1', name: 'f', namespace: null } as const;
const parts: Readonly<Record<string, AnswerPart>> = {
  text: { kind: 'text', text: 'Größe 東京' },
  'an empty text': { kind: 'text', text: '' },
  refusal: { kind: 'refusal', text: 'No.' },
  'reasoning with a signature': { kind: 'thinking', text: 'Hm.', signature },
  'a signature alone': { kind: 'thinking', text: '', signature },
  'a call': { ...call, argumentsText: '{"q":"é"}', isFreeform: false },
  'a freeform call': { ...call, argumentsText: 'ls', isFreeform: true, namespace: 'shell' },
};

function answerOf(part: AnswerPart): Answer {
  return {
    ...{ id: 'resp_1', model: 'm', parts: [part], stop: { reason: 'end', sequence: null } },
    ...{ usage: null, serviceTier: null, broken: null },
  };
}

function openOf(part: AnswerPart): OpenPart {
  if (part.kind !== 'call') return { kind: part.kind };
  const { argumentsText: _text, ...open } = part;
  return open;
}

/** The events of an answer with one delta a part. */
function eventsOf({ id, model, parts: [part], stop }: Answer): WrittenEvent[] {
  if (part === undefined) throw new Error('no part');
  const text = part.kind === 'call' ? part.argumentsText : part.text;
  const deltas: WrittenEvent[] = text === '' ? [] : [{ type: 'delta', text }];
  return [
    { type: 'start', id, model },
    { type: 'open', part: openOf(part) },
    ...deltas,
    { type: 'close', signature: part.kind === 'thinking' ? part.signature : null },
    { type: 'stop', stop },
    { type: 'end' },
  ];
}

/** The events but for times, empty deltas and the signature of an item that begins, which streams have at its end. */
function comparable(frames: readonly Buffer[]): Fields[] {
  const events = frames.map((frame) => JSON.parse(frameData(frame) ?? '') as Fields);
  return events
    .filter(({ delta }) => delta !== '')
    .map(({ response, item, ...event }, sequence_number) => {
      const { encrypted_content: _encrypted, ...begun } = Object(item) as Fields;
      return {
        ...event,
        ...(response !== undefined && { response: { ...(response as Fields), created_at: 0 } }),
        ...(item !== undefined && { item: event['type'] === 'response.output_item.added' ? begun : item }),
        sequence_number,
      };
    });
}

/** The events of a response with one item. */
function splitItem(item: Fields): Fields[] {
  const frames = streamFrames(Buffer.from(JSON.stringify({ status: 'completed', output: [item] })));
  return frames.map((frame) => JSON.parse(frameData(frame) ?? '') as Fields);
}

describe('the events of an item', () => {
  it.each(Object.entries(parts))('with %s are the same streamed and split', (_name, part) => {
    const writer = new ResponseWriter();
    const streamed = eventsOf(answerOf(part)).flatMap((event) => writer.write(event));
    const split = streamFrames(Buffer.from(writeAnswer(answerOf(part))));
    expect(comparable(split)).toEqual(comparable(streamed));
  });

  it.each([
    ['message', 'content', { text: 'Hi' }, 'response.output_text'],
    ['message', 'content', { type: 'text', text: 'Hi' }, 'response.output_text'],
    ['message', 'content', { type: 'summary_text', text: 'Hi' }, 'response.output_text'],
    ['reasoning', 'summary', { text: 'Hi' }, 'response.reasoning_summary_text'],
    ['reasoning', 'summary', { type: 'text', text: 'Hi' }, 'response.reasoning_summary_text'],
  ])('%s have the text of its %s in %j', (type, list, part, event) => {
    const events = splitItem({ id: 'i', type, [list]: [part] });
    expect(events.filter((each) => String(each['type']).startsWith(event))).toMatchObject([
      { type: `${event}.delta`, delta: 'Hi' },
      { type: `${event}.done`, text: 'Hi' },
    ]);
  });

  it.each<[Fields, Fields]>([
    [{ type: 'message', content: [] }, { status: 'in_progress' }],
    [
      { type: 'function_call', arguments: '{}' },
      { status: 'in_progress', arguments: '' },
    ],
    [
      { type: 'custom_tool_call', input: 'ls' },
      { status: 'in_progress', input: '' },
    ],
    [{ type: 'reasoning', summary: [] }, {}],
    [{ type: 'reasoning', summary: [], status: 'completed' }, { status: 'completed' }],
    [{ type: 'output_text', text: 'x', status: 'completed' }, { status: 'completed' }],
  ])('begin %j with %j', (item, begun) => {
    const [, , added] = splitItem(item);
    expect(added).toMatchObject({ type: 'response.output_item.added' });
    expect(added?.['item']).toEqual({ ...item, ...begun });
  });
});
