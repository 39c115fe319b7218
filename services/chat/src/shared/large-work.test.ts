import { expect, it, jest } from '@jest/globals';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { LargeWork } from './large-work.ts';

const large = 2 * 1024 * 1024;

it('of large requests is done one at a time, and of small ones at once', async () => {
  const first = new LargeWork('a');
  await first.begin(large);
  // Twice is once.
  await first.begin(large);
  const order: string[] = [];
  const second = LargeWork.during({ tenantId: 'b', bytes: large }, () =>
    Promise.resolve(order.push('large')),
  );
  await LargeWork.during({ tenantId: 'b', bytes: 1_000 }, () => Promise.resolve(order.push('small')));
  await new Promise(setImmediate);
  expect(order).toEqual(['small']);
  first.end();
  first.end();
  await second;
  expect(order).toEqual(['small', 'large']);
});

it('leaves its line with its client, and the next one when it fails', async () => {
  const first = new LargeWork('a');
  await first.begin(large);
  const client = new AbortController();
  const left = new LargeWork('b', client.signal).begin(large);
  client.abort(new Error('the client left'));
  await expect(left).rejects.toThrow('the client left');
  first.end();
  const failing = LargeWork.during({ tenantId: 'c', bytes: large }, () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  await LargeWork.during({ tenantId: 'd', bytes: large }, () => Promise.resolve());
});

it('has turns at the event loop ahead of what waits there for its tenant, once its own has begun', async () => {
  const order: string[] = [];
  const piece = (name: string): Promise<number> => runCooperatively('a', () => order.push(name));
  const waiting = ['first', 'second', 'third'].map((name) => piece(name));
  await LargeWork.during({ tenantId: 'a', bytes: 0 }, async (work) => {
    waiting.push(piece('small'));
    await work.begin(large);
    await piece('large');
    work.end();
    await piece('later');
  });
  await Promise.all(waiting);
  expect(order).toEqual(['first', 'large', 'second', 'third', 'small', 'later']);
});

it('waits for its turn for half a minute at most', async () => {
  const first = new LargeWork('a');
  await first.begin(large);
  jest.useFakeTimers({ doNotFake: ['nextTick', 'performance', 'queueMicrotask', 'setImmediate'] });
  try {
    const late = LargeWork.during({ tenantId: 'b', bytes: large }, () => Promise.resolve());
    jest.advanceTimersByTime(30_000);
    await expect(late).rejects.toMatchObject({
      code: 'service_unavailable',
      headers: { 'retry-after': '5' },
    });
  } finally {
    jest.useRealTimers();
    first.end();
  }
  expect(LargeWork.waiting).toBe(0);
});
