import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import type { Answer, AnswerPart } from '../translation/answer.ts';
import type { OpenPart, StreamEvent } from '../translation/stream-events.ts';
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

/** The events of an answer with one delta a part. */
function eventsOf({ id, model, parts: [part], stop }: Answer): StreamEvent[] {
  if (part === undefined) throw new Error('no part');
  const { argumentsText, text = argumentsText, signature: made = null, ...open } = part as Fields;
  const deltas: StreamEvent[] = text === '' ? [] : [{ type: 'delta', text: String(text) }];
  return [
    { type: 'start', id, model },
    { type: 'open', part: open as unknown as OpenPart },
    ...deltas,
    { type: 'close', signature: made as typeof signature | null },
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

describe('the events of an item', () => {
  it.each(Object.entries(parts))('with %s are the same streamed and split', (_name, part) => {
    const writer = new ResponseWriter();
    const streamed = eventsOf(answerOf(part)).flatMap((event) => writer.write(event));
    const split = streamFrames(Buffer.from(writeAnswer(answerOf(part))));
    expect(comparable(split)).toEqual(comparable(streamed));
  });
});
