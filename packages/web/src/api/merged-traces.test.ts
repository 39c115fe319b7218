import { expect, it } from '@jest/globals';
import type { Trace } from '@gatehouse/contract/traces';
import { merged } from './merged-traces.ts';

const run = (id: number, status: Trace['status'] = 'running') =>
  ({ id: String(id), status, started_at: new Date(id * 1_000).toISOString() }) as Trace;

it('a run is held once, in its latest state, newest first, and no more than 200', () => {
  const held = merged([run(1), run(2)], [run(1, 'ok'), run(3)]);
  expect(held.map(({ id, status }) => [id, status])).toEqual([
    ['3', 'running'],
    ['2', 'running'],
    ['1', 'ok'],
  ]);
  const many = merged(
    held,
    Array.from({ length: 300 }, (_, index) => run(index + 10)),
  );
  expect([many.length, many[0]?.id]).toEqual([200, '309']);
});
