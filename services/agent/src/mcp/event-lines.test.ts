import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EventLines, eventText, type StreamEvent } from './event-lines.ts';

function read(pieces: readonly Uint8Array[]): StreamEvent[] {
  const lines = new EventLines();
  return pieces.flatMap((piece) => [...lines.push(piece)]);
}

const line = fc.string({ unit: 'binary' }).map((text) => text.replace(/[\r\n]/g, ' ').toWellFormed());
const event = fc.record({
  type: fc.constantFrom('message', 'endpoint'),
  id: fc.option(line, { nil: undefined }),
  retry: fc.constantFrom(undefined, '250'),
  data: fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => `x${lines.join('\n')}`),
});

it('reads what was written, however it is cut and whatever ends its lines', () => {
  const lineEnds = fc.constantFrom('\n', '\r', '\r\n');
  fc.assert(
    fc.property(fc.array(event), lineEnds, fc.integer({ min: 1, max: 9 }), (written, lineEnd, size) => {
      const bytes = Buffer.from(written.map(eventText).join('').replaceAll('\n', lineEnd));
      const count = Math.ceil(bytes.length / size);
      const pieces = Array.from({ length: count }, (_, n) => bytes.subarray(n * size, (n + 1) * size));
      expect(read(pieces)).toEqual(written);
    }),
  );
});

it('leaves out comments, unknown fields and events without content', () => {
  const text = ': comment\n\nevent: x\n\nother: 1\ndata\ndata:two\n\ndata: not ended';
  expect(read([Buffer.from(text)])).toEqual([
    { type: 'message', id: undefined, retry: undefined, data: '\ntwo' },
  ]);
});

it('writes an event that has an id alone so that clients take notice of the id', () => {
  const priming = { type: 'message', id: '7', retry: '500', data: '' };
  expect(eventText(priming)).toBe('retry: 500\nid: 7\ndata: \n\n');
});
