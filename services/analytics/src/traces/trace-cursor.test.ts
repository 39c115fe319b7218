import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeCursor, encodeCursor, type CursorScope } from './trace-cursor.ts';

const scope: CursorScope = { cluster: '7123456789012345678', filters: { tenant: 't', status: 'ok' } };
const position = fc.record({
  transaction: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  number: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
});

describe('the cursor of traces/follow', () => {
  it('comes back as the position that it was made of', () => {
    fc.assert(
      fc.property(position, (at) => {
        expect(decodeCursor(encodeCursor(at, scope), scope)).toEqual(at);
      }),
    );
  });

  it('does not care in which order filters are named, nor about those that are not set', () => {
    const cursor = encodeCursor({ transaction: 1n, number: 2n }, scope);
    const same = { cluster: scope.cluster, filters: { user: null, status: 'ok', tenant: 't' } };
    expect(decodeCursor(cursor, same)).toEqual({ transaction: 1n, number: 2n });
  });

  it('is for its filters and its cluster alone', () => {
    const cursor = encodeCursor({ transaction: 1n, number: 2n }, scope);
    const code = (other: CursorScope): unknown => {
      try {
        return decodeCursor(cursor, other);
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    expect(code({ ...scope, filters: { tenant: 't' } })).toBe('cursor_mismatch');
    expect(code({ ...scope, filters: { tenant: 'u', status: 'ok' } })).toBe('cursor_mismatch');
    expect(code({ ...scope, cluster: '1' })).toBe('cursor_expired');
  });

  it('is refused as a client error whatever is made of it', () => {
    const tampered = fc.oneof(
      fc.string(),
      fc.json().map((text) => Buffer.from(text).toString('base64url')),
      fc
        .record({ v: fc.constant(1), c: fc.string(), t: fc.string(), n: fc.string(), f: fc.string() })
        .map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
      fc.constant(
        Buffer.from(
          JSON.stringify({ v: 1, c: scope.cluster, t: '1', n: '9223372036854775808', f: 'x' }),
        ).toString('base64url'),
      ),
    );
    fc.assert(
      fc.property(tampered, (text) => {
        expect(() => decodeCursor(text, scope)).toThrow(
          expect.objectContaining({ status: 400, param: 'cursor' }),
        );
      }),
    );
  });
});
