import { describe, expect, it } from '@jest/globals';
import { burst, nextBurst, type WaitingMessage } from './burst.ts';

const message = (id: number, fields: Partial<WaitingMessage> = {}): WaitingMessage => ({
  ...{
    id: String(id),
    userId: 'ann',
    senderName: null,
    textBytes: 10,
    hasAttachment: false,
    hops: 0,
    ageS: 5,
  },
  ...fields,
});
const ids = (waiting: WaitingMessage[]) => nextBurst(waiting).messages.map(({ id }) => id);

describe('the next turn', () => {
  it('has what its sender wrote within two seconds of the first message', () => {
    expect(ids([message(1), message(2, { ageS: 3 }), message(3, { ageS: 2.9 })])).toEqual(['1', '2']);
    expect(ids([message(1), message(2, { userId: 'bob' }), message(3)])).toEqual(['1', '3']);
  });

  it('waits until no more can belong to it', () => {
    expect(nextBurst([message(1, { ageS: 0.5 })]).readyInS).toBe(1.5);
    expect(nextBurst([message(1, { ageS: 0.5 }), message(2, { ageS: 2.5 })]).readyInS).toBe(0);
    expect(nextBurst([])).toEqual({ messages: [], readyInS: 0 });
  });

  it('has at most 20 messages', () => {
    const many = Array.from({ length: 21 }, (_, id) => message(id, { ageS: 0 }));
    expect(nextBurst(many)).toEqual({ messages: many.slice(0, 20), readyInS: 0 });
  });

  it('has at most 32 kB, save a longer message alone', () => {
    const half = { textBytes: burst.bytes / 2 };
    expect(ids([message(1, half), message(2, half), message(3)])).toEqual(['1', '2']);
    expect(ids([message(1, { textBytes: 200_000 }), message(2)])).toEqual(['1']);
  });
});
