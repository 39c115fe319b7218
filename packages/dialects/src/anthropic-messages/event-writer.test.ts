import { expect, it } from '@jest/globals';
import type { WrittenEvent } from '../translation/stream-events.ts';
import { MessageWriter } from './event-writer.ts';

const written = (...events: object[]): string => {
  const writer = new MessageWriter();
  return events.map((event) => Buffer.concat(writer.write(event as WrittenEvent)).toString()).join('');
};
const open = { type: 'open', part: { kind: 'text' } };
const close = { type: 'close', signature: null };

it('writes no block for a text without a character', () => {
  expect(written(open, { type: 'delta', text: '' }, close)).toBe('');
});

it('begins the block of a text with its first character, at the next index', () => {
  const stream = written(open, close, open, { type: 'delta', text: 'a' }, { type: 'delta', text: '' }, close);
  expect(stream.match(/"type":"content_block_\w+","index":0/g)).toHaveLength(4);
});
