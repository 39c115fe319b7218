import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { countAll } from '@gatehouse/dialects/usage/count-worker';
import { estimateTokens, sampleOf } from '@gatehouse/dialects/usage/token-estimate';
import { createLogger, type Logger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { longestBlock } from '@gatehouse/test/longest-block';
import { countersOf } from '../../test/counters-of.ts';
import { maxCountedTexts } from '../bounds.ts';
import { TokenCounter } from './token-counter.ts';

let warnings: unknown[];
let counter: TokenCounter;
beforeEach(() => {
  warnings = [];
  const log: Logger = createLogger('test', 'silent');
  log.warn = (fields: unknown) => warnings.push(fields);
  counter = new TokenCounter(log);
  counter.start();
});
afterEach(() => counter.stop());

const texts = [
  ...['hello', 'Hello, world!', 'tiktoken is great!', '<|endoftext|>', '\ud800'],
  ...['x', '你', '\n', 'é', '"\\', '🎉', '\ud800'].map((piece) => piece.repeat(2_000)),
  'The quick brown fox jumps over the lazy dog. '.repeat(500),
];

it('has the numbers of the tokenizer, from one process', async () => {
  expect(countersOf(process.pid)).toEqual([]);
  expect(await Promise.all(texts.map((text) => counter.count(text)))).toEqual(countAll(texts));
  expect(await estimateTokens(sampleOf('tiktoken is great!'))).toBe(6);
  expect(countersOf(process.pid)).toHaveLength(1);
  expect(warnings).toEqual([]);
});

it('counts no text for an empty one', async () => {
  expect(await estimateTokens(sampleOf(''))).toBe(0);
  expect(countersOf(process.pid)).toEqual([]);
});

it('guesses the tokens of texts beyond its bounds, logs it once, and does not hold the event loop', async () => {
  await counter.count('warm');
  const long = sampleOf('你'.repeat(50_000));
  const blocked = await longestBlock(async () => {
    const counts = await Promise.all(Array.from({ length: 500 }, () => estimateTokens(long)));
    // Twenty are a million characters.
    expect(counts.filter((tokens) => tokens !== 12_500)).toHaveLength(20);
    const short = Array.from({ length: maxCountedTexts + 1 }, () => counter.count('hello'));
    expect((await Promise.all(short)).filter((tokens) => tokens === null)).toHaveLength(1);
  }, 20);
  expect(blocked).toBeLessThan(20);
  expect(warnings).toHaveLength(1);
  expect(await counter.count('hello')).toBe(1);
});

it('guesses the tokens of a text whose process is killed, and counts on in another one', async () => {
  expect(await estimateTokens(sampleOf('hello'))).toBe(1);
  const [first = 0] = countersOf(process.pid);
  process.kill(first, 'SIGSTOP');
  const counted = estimateTokens(sampleOf('你'.repeat(40_000)));
  await setImmediate();
  process.kill(first, 'SIGKILL');
  expect(await counted).toBe(10_000);
  await eventually(() => expect(countersOf(process.pid)).toEqual([]));
  expect(await estimateTokens(sampleOf('hello'))).toBe(1);
  expect(countersOf(process.pid)).not.toContain(first);
  expect(warnings).toHaveLength(1);
});

it('has no process once it is stopped', async () => {
  await counter.count('hello');
  await counter.stop();
  await eventually(() => expect(countersOf(process.pid)).toEqual([]));
});
