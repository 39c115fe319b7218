import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Probe } from '../test/probe.ts';
import { pageBytes } from '@gatehouse/kit/page';
import { readPage, sizeOf } from './page.ts';
import { withTenant } from './pool.ts';

let probe: Probe;
beforeAll(async () => {
  probe = await Probe.start();
});
afterAll(() => probe.stop());

const half = pageBytes / 2;

it.each<[string, { sizes: number[]; limit: number; read: number; more: boolean }]>([
  ['holds all rows that fit', { sizes: [1, 2, 3], limit: 3, read: 3, more: false }],
  ['ends at its limit', { sizes: [1, 2, 3], limit: 2, read: 2, more: true }],
  ['ends with the row that fills it', { sizes: [half, half, 1, 1], limit: 4, read: 2, more: true }],
  ['that is not full goes on', { sizes: [half, half - 1, 1, 1], limit: 4, read: 3, more: true }],
  ['holds a row that is larger than a page', { sizes: [3 * half, 1], limit: 4, read: 1, more: true }],
  ['that one row fills has none behind it', { sizes: [3 * half], limit: 4, read: 1, more: false }],
  ['of nothing is empty', { sizes: [], limit: 4, read: 0, more: false }],
])('a page %s', async (_what, { sizes, limit, read, more }) => {
  const tenantId = newId();
  const ids = sizes.map(() => newId()).sort();
  const page = await withTenant(probe.pool, tenantId, async (db) => {
    await db.query(
      `insert into probe.notes (id, tenant_id, text)
       select id, $1, repeat('x', size) from unnest($2::uuid[], $3::integer[]) as notes (id, size)`,
      [tenantId, ids, sizes],
    );
    return readPage(db, {
      columns: 'id',
      from: 'probe.notes where tenant_id = $1',
      order: 'id',
      size: sizeOf('text'),
      limit,
      values: [tenantId],
    });
  });
  // The rows have no other columns.
  expect(page).toEqual({ rows: ids.slice(0, read).map((id) => ({ id })), more });
});
