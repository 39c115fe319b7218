import { describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { pageBytes } from '@gatehouse/kit/page';
import fc from 'fast-check';
import { decodeCursor, encodeCursor, pageOf } from './pagination.ts';

/** A list as a store returns it: newest id first, after the cursor, one row more than the limit. */
function read(
  ids: readonly string[],
  limit: number,
  cursor: string | undefined,
): ReturnType<typeof pageOf<{ id: string }, string>> {
  const before = decodeCursor(cursor);
  const rows = [...ids]
    .sort()
    .reverse()
    .filter((id) => before === null || id < before);
  return pageOf(
    rows.slice(0, limit + 1).map((id) => ({ id })),
    limit,
    (row) => row.id,
  );
}

const ids = fc.uniqueArray(fc.uuid({ version: 7 }), { maxLength: 40 });

describe('pages', () => {
  it('hold every item once, in order, whatever their size', () => {
    fc.assert(
      fc.property(ids, fc.integer({ min: 1, max: 12 }), (all, limit) => {
        const seen: string[] = [];
        let cursor: string | undefined;
        for (;;) {
          const page = read(all, limit, cursor);
          seen.push(...page.data);
          expect(page.has_more).toBe(page.next_cursor !== null);
          if (page.next_cursor === null) break;
          expect(page.data).toHaveLength(limit);
          cursor = page.next_cursor;
        }
        expect(seen).toEqual([...all].sort().reverse());
      }),
    );
  });

  it('stay put when something is inserted or deleted between two of them', () => {
    fc.assert(
      fc.property(ids, ids, fc.integer({ min: 1, max: 5 }), (all, inserted, limit) => {
        const first = read(all, limit, undefined);
        if (first.next_cursor === null) return;
        const kept = all.filter((id) => !first.data.includes(id));
        const rest = read(
          [...kept, ...inserted.filter((id) => id > (first.data.at(-1) ?? ''))],
          100,
          first.next_cursor,
        );
        expect(rest.data).toEqual([...kept].sort().reverse());
      }),
    );
  });

  it('know their end without an empty page', () => {
    expect(read(['a', 'b'], 2, undefined)).toEqual({ data: ['b', 'a'], has_more: false, next_cursor: null });
    expect(read([], 2, undefined)).toEqual({ data: [], has_more: false, next_cursor: null });
  });
});

describe('pages of large items', () => {
  const text = fc.oneof(
    fc.integer({ min: 0, max: 3 * 2 ** 20 }).map((length) => 'x'.repeat(length)),
    // Longer as JSON than in memory.
    fc.integer({ min: 0, max: 2 ** 20 }).map((length) => '\u0001'.repeat(length)),
  );

  it('end at 4 MiB of JSON, hold one item at least, and leave none out', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 12 }), fc.integer({ min: 1, max: 12 }), (texts, limit) => {
        const items = texts.map((each, n) => ({ id: `0${n}`.slice(-2), text: each }));
        let left = items;
        for (let more = true; more;) {
          const page = pageOf(left.slice(0, limit + 1), limit, (item) => item);
          expect(page.data.length > 0 || items.length === 0).toBe(true);
          if (page.data.length > 1)
            expect(Buffer.byteLength(JSON.stringify(page.data))).toBeLessThanOrEqual(pageBytes + 2);
          expect(page.data.map(({ id }) => id)).toEqual(left.slice(0, page.data.length).map(({ id }) => id));
          left = left.slice(page.data.length);
          expect(page.has_more).toBe(left.length > 0);
          more = page.has_more;
        }
        expect(left).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });

  it('go on where the database made the cut', () => {
    const rows = [{ id: newId() }, { id: newId() }];
    expect(pageOf({ rows, more: true }, 50, ({ id }) => id)).toEqual({
      data: rows.map(({ id }) => id),
      has_more: true,
      next_cursor: encodeCursor(rows[1]?.id ?? ''),
    });
  });
});

describe('a cursor', () => {
  it('comes back as the id it was made of, and is safe in a URL', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        expect(decodeCursor(encodeCursor(id))).toBe(id);
        expect(encodeCursor(id)).toMatch(/^[\w-]+$/);
      }),
    );
    expect(decodeCursor(undefined)).toBeNull();
  });

  it.each([
    '',
    'x',
    'null',
    encodeCursor('not-an-id'),
    encodeCursor("' or 1=1 --"),
    Buffer.from('null').toString('base64url'),
    Buffer.from('[]').toString('base64url'),
    Buffer.from('{"v":2,"before":"01890a5d-ac96-774b-bcce-b302099a8057"}').toString('base64url'),
    Buffer.from('{"v":1,"before":["01890a5d-ac96-774b-bcce-b302099a8057"]}').toString('base64url'),
  ])('that is none of ours is refused: %j', (cursor) => {
    expect(() => decodeCursor(cursor)).toThrow(
      expect.objectContaining({ code: 'invalid_cursor', param: 'cursor', status: 400 }),
    );
  });

  it('never makes anything but an id or an error of ours', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.base64String(),
          fc.json().map((json) => Buffer.from(json).toString('base64url')),
        ),
        (cursor) => {
          expect(() => decodeCursor(cursor)).toThrow(AppError);
        },
      ),
    );
  });
});
