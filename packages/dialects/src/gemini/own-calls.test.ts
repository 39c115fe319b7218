import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { GeminiAnswerBuilder } from './response-mode.ts';
import { frameOf, responseIn } from './stream.ts';
import { ContentToolAnswers, ContentToolStream } from './tools.ts';

/** Calls of the gateway's own tools in answers whose reasoning translation has signed. */

const response = (parts: readonly Fields[], end: Fields = { finishReason: 'STOP' }): Fields => ({
  candidates: [{ content: { role: 'model', parts }, ...end, index: 0 }],
});
const call = (name: string, more: Fields = {}): Fields => ({ functionCall: { name, args: {} }, ...more });
const marked = (of: string): Fields => ({ thoughtSignature: `gatehouse.${of}` });
const googles = { thoughtSignature: 'c2ln' };
const thought = { text: 'hm', thought: true };
const keepAlive = { text: '', thought: true };
const isOwn = (name: string): boolean => name.startsWith('own');

function shown(...parts: Fields[]): unknown {
  const answers = new ContentToolAnswers(isOwn);
  answers.add(response(parts));
  return JSON.parse(String(answers.shown));
}

/** A frame for each part, and one for the end. */
const framesOf = (...parts: Fields[]): Buffer[] => [
  ...parts.map((part) => frameOf(response([part], {}))),
  frameOf(response([keepAlive])),
];

function built(frames: readonly Buffer[]): unknown {
  const builder = new GeminiAnswerBuilder();
  for (const frame of frames) builder.add(frame);
  return JSON.parse(String(builder.built));
}

describe('the reasoning before a call of the gateway', () => {
  it('stands at the next call', () => {
    const parts = [{ text: 'x' }, call('own_a', marked('a')), call('b'), call('c')];
    expect(shown(...parts)).toEqual(response([{ text: 'x' }, call('b', marked('a')), call('c')]));
  });

  it.each([
    ['a call with reasoning of its own', marked('a'), marked('b')],
    ['a signature of Google’s, which belongs to its call', googles, {}],
  ])('goes with it before %s', (_what, own, its) => {
    expect(shown(call('own_a', own), call('b', its))).toEqual(response([call('b', its)]));
  });

  it('stands at the next call of its answer in a stream, which has one end', () => {
    const frames: Buffer[] = [];
    const sink = { write: (more: readonly Buffer[]) => frames.push(...more) > 0, onDrain: () => undefined };
    const stream = new ContentToolStream(sink, isOwn);
    const own = call('own_a', marked('a'));
    stream.write(framesOf(thought, own));
    stream.next();
    stream.write(framesOf(own, call('b')));
    stream.finish();
    frames.push(...stream.endFrames());
    expect(built(frames)).toEqual(response([thought, call('b', marked('a'))]));
    expect(frames.filter((frame) => JSON.stringify(responseIn(frame)).includes('STOP'))).toHaveLength(1);
    expect(frames.filter((frame) => frame.includes('"text":""'))).toHaveLength(1);
  });
});

describe('the pieces of a text', () => {
  it('are one where translation has signed the first of them', () => {
    const first = { text: 'a', ...marked('a') };
    const signed = { text: 'c', ...googles };
    expect(built(framesOf(first, { text: 'b' }, signed, { text: 'd' }))).toEqual(
      response([{ ...first, text: 'ab' }, signed, { text: 'd' }]),
    );
  });
});
