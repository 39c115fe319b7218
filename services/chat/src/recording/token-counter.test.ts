import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { countAll } from '@gatehouse/dialects/usage/count-worker';
import { estimateTokens, sampleOf } from '@gatehouse/dialects/usage/token-estimate';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { longestBlock } from '@gatehouse/test/longest-block';
import { countersOf } from '../../test/counters-of.ts';
import { maxCounted } from '../bounds.ts';
import { TokenCounter } from './token-counter.ts';

const tenant = 'tenant';
const quiet = createLogger('test', 'silent');
let warnings: unknown[];
let counter: TokenCounter;
beforeEach(() => {
  warnings = [];
  quiet.warn = (fields: unknown) => warnings.push(fields);
  counter = new TokenCounter({ log: quiet, waitMs: 60_000 });
  counter.start();
});
afterEach(() => counter.stop());

/** Replaces the process that counts; `answer` has the result of a call. */
function countIn(answer: () => Promise<number[]>, waitMs = 60_000): { calls: () => number } {
  let calls = 0;
  const run = (): Promise<number[]> => ((calls += 1), answer());
  counter = new TokenCounter({ log: quiet, waitMs, sandbox: { run, stop: () => Promise.resolve() } });
  counter.start();
  return { calls: () => calls };
}

const texts = [
  ...['hello', 'Hello, world!', 'tiktoken is great!', '<|endoftext|>', '\ud800'],
  ...['x', '你', '\n', 'é', '"\\', '🎉', '\ud800'].map((piece) => piece.repeat(2_000)),
  'The quick brown fox jumps over the lazy dog. '.repeat(500),
];

it('has the numbers of the tokenizer, from one process', async () => {
  expect(countersOf(process.pid)).toEqual([]);
  expect(await Promise.all(texts.map((text) => counter.count(text, tenant)))).toEqual(countAll(texts));
  expect(await estimateTokens(sampleOf('tiktoken is great!'), tenant)).toBe(6);
  expect(countersOf(process.pid)).toHaveLength(1);
  expect(warnings).toEqual([]);
});

it('counts no text for an empty one', async () => {
  expect(await estimateTokens(sampleOf(''), tenant)).toBe(0);
  expect(countersOf(process.pid)).toEqual([]);
});

it('guesses the tokens of texts beyond its bounds, logs it once, and does not hold the event loop', async () => {
  await counter.count('warm', tenant);
  const long = sampleOf('你'.repeat(50_000));
  const blocked = await longestBlock(async () => {
    const counts = await Promise.all(Array.from({ length: 500 }, () => estimateTokens(long, tenant)));
    // A tenth of the characters of all.
    expect(counts.filter((tokens) => tokens !== 37_500)).toHaveLength(2);
    const short = Array.from({ length: maxCounted.tenant.texts + 1 }, () => counter.count('hello', tenant));
    expect((await Promise.all(short)).filter((tokens) => tokens === null)).toHaveLength(1);
  }, 20);
  expect(blocked).toBeLessThan(20);
  expect(warnings).toHaveLength(1);
  expect(await counter.count('hello', tenant)).toBe(1);
});

it('has room for other tenants beside one with too many texts, and for all together', async () => {
  const long = 'x'.repeat(50_000);
  const count = (tenants: number) =>
    Array.from({ length: 3 * tenants }, (_, index) => counter.count(long, `tenant ${index % tenants}`));
  const { calls } = countIn(() => new Promise(() => undefined), 20);
  await Promise.all(count(1));
  expect([calls(), await counter.count('hello', 'other'), calls()]).toEqual([1, null, 2]);
  const all = countIn(() => new Promise(() => undefined), 20);
  await Promise.all(count(30));
  expect(all.calls()).toBe(20);
});

it('counts a text of a tenant that comes after others have reached the bounds', async () => {
  const { calls } = countIn(() => new Promise(() => undefined), 20);
  const long = 'x'.repeat(maxCounted.tenant.chars);
  const tenants = maxCounted.all.chars / maxCounted.tenant.chars;
  const counts = Array.from({ length: tenants }, (_, index) => counter.count(long, `tenant ${index}`));
  counts.push(counter.count('hello', 'late'), counter.count(long, 'later'));
  await Promise.all(counts);
  expect(calls()).toBe(tenants + 1);
});

it('counts on for others while the texts of one tenant fail', async () => {
  let calls = 0;
  const run = (tenantId: string, texts: readonly string[]): Promise<number[]> => {
    calls += 1;
    return tenantId === 'bad' ? Promise.reject(new Error('too slow')) : Promise.resolve(texts.map(() => 7));
  };
  counter = new TokenCounter({ log: quiet, waitMs: 60_000, sandbox: { run, stop: () => Promise.resolve() } });
  const count = () => Promise.all(['bad', 'good'].map((tenantId) => counter.count('hello', tenantId)));
  expect([await count(), calls]).toEqual([[null, 7], 2]);
  // The first tenant is not tried again so soon.
  expect([await count(), calls]).toEqual([[null, 7], 3]);
});

it('tries no further tenant once the process has failed for two in a row', async () => {
  const { calls } = countIn(() => Promise.reject(new Error('no start')));
  for (const tenantId of ['a', 'b', 'c', 'd']) expect(await counter.count('hello', tenantId)).toBeNull();
  expect(calls()).toBe(2);
});

it('guesses the tokens of a text whose process is killed, and counts on in another one', async () => {
  expect(await estimateTokens(sampleOf('hello'), tenant)).toBe(1);
  const [first = 0] = countersOf(process.pid);
  process.kill(first, 'SIGSTOP');
  const counted = estimateTokens(sampleOf('你'.repeat(40_000)), tenant);
  await setImmediate();
  process.kill(first, 'SIGKILL');
  expect(await counted).toBe(30_000);
  await eventually(() => expect(countersOf(process.pid)).toEqual([]));
  await eventually(async () => expect(await counter.count('hello', tenant)).toBe(1));
  expect(countersOf(process.pid)).not.toContain(first);
  expect(warnings).toHaveLength(1);
});

it('waits no longer than its bound for a process that does not answer', async () => {
  const { calls } = countIn(() => new Promise(() => undefined), 20);
  const sample = sampleOf('你'.repeat(40_000));
  expect(await Promise.all([estimateTokens(sample, tenant), estimateTokens(sample, tenant)])).toEqual([
    30_000, 30_000,
  ]);
  expect(calls()).toBe(1);
  expect(warnings).toHaveLength(1);
});

it('starts a process that fails again after a second, then after twice as long each time', async () => {
  // The clock alone.
  jest.useFakeTimers({
    doNotFake: [
      ...(['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'nextTick'] as const),
      ...(['setInterval', 'clearInterval', 'queueMicrotask', 'Date', 'hrtime'] as const),
    ],
  });
  try {
    const { calls } = countIn(() =>
      calls() < 4 ? Promise.reject(new Error('no start')) : Promise.resolve([7]),
    );
    const countAfter = async (ms: number): Promise<[number | null, number]> => {
      jest.advanceTimersByTime(ms);
      return [await counter.count('hello', tenant), calls()];
    };
    expect(await Promise.all([countAfter(0), countAfter(0)])).toEqual([
      [null, 1],
      [null, 1],
    ]);
    expect(await countAfter(999)).toEqual([null, 1]);
    expect(await countAfter(1)).toEqual([null, 2]);
    expect(await countAfter(1_999)).toEqual([null, 2]);
    expect(await countAfter(1)).toEqual([null, 3]);
    expect(await countAfter(4_000)).toEqual([7, 4]);
    expect(await countAfter(0)).toEqual([7, 5]);
  } finally {
    jest.useRealTimers();
  }
});

it('guesses once it is stopped, without a process and without the tokenizer', async () => {
  expect(await estimateTokens(sampleOf('tiktoken is great!'), tenant)).toBe(6);
  await counter.stop();
  await eventually(() => expect(countersOf(process.pid)).toEqual([]));
  // 18 bytes.
  expect(await estimateTokens(sampleOf('tiktoken is great!'), tenant)).toBe(5);
  expect(countersOf(process.pid)).toEqual([]);
});
