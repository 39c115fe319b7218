import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { verbsOf, type NamedStatement } from '@gatehouse/pg/rows';
import { putDocument } from '../src/store/documents/document-store.ts';
import { StoredVectors } from './stored-vectors.ts';

let stored: StoredVectors;
beforeAll(async () => {
  stored = await StoredVectors.prepare();
});
afterAll(() => stored.stop());

/** The same connection, which notes the longest list among the values and the most rows of a statement. */
function noting(db: Queryable, longest: { list: number; rows: number }): Queryable {
  const query = async (
    statement: string | NamedStatement,
    values?: unknown[],
  ): ReturnType<Parameters<typeof verbsOf>[0]> => {
    const all = values ?? (typeof statement === 'string' ? [] : (statement.values ?? []));
    for (const value of all) if (Array.isArray(value)) longest.list = Math.max(longest.list, value.length);
    const result = await db.query(statement as string, values);
    longest.rows = Math.max(longest.rows, result.rows.length);
    return result;
  };
  return { query, ...verbsOf(query) } as Queryable;
}

it('a document of many words is stored, and replaced, in statements of bounded size', async () => {
  const key = { ...stored.makeAgent(), analyser: 'simple' } as const;
  const source = { kind: 'api', run_id: null, session_id: null } as const;
  const longest = { list: 0, rows: 0 };
  const documentOf = (passages: number) => ({
    ...{ path: 'large', userId: '', title: null, metadata: {}, source, text: '', at: new Date() },
    passages: Array.from({ length: passages }, (_, line) => {
      const words = Array.from({ length: 80 }, () => randomBytes(8).toString('hex'));
      return { startLine: line, endLine: line, context: '', text: words.join(' ') };
    }),
  });
  for (const passages of [200, 100]) {
    const put = await withTenant(stored.pool, key.tenantId, (db) =>
      putDocument(noting(db, longest), key, documentOf(passages)),
    );
    expect(put?.document.chunks).toBe(passages);
  }
  // One list names the passages of the document that is replaced.
  expect(longest.list).toBeLessThanOrEqual(2_000);
  expect(longest.rows).toBeLessThanOrEqual(2_000);
  const { rows } = await stored.admin.query(
    `select (select sum(octet_length(entries)) / 4 from memory.postings where tenant_id = $1)
              = (select sum(cardinality(terms)) from memory.chunks where tenant_id = $1) as "matches"`,
    [key.tenantId],
  );
  expect(rows).toEqual([{ matches: true }]);
});
