import { expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { CatalogueError } from './catalogue.ts';
import { CatalogueWatch } from './catalogue-watch-job.ts';

/** The texts that are used and reported while the file has these, one after another; the last one stays. */
async function seenOf(texts: readonly string[]): Promise<string[]> {
  const seen: string[] = [];
  let readings = 0;
  const { promise: isOver, resolve: end } = Promise.withResolvers<undefined>();
  const watch = new CatalogueWatch({
    onInvalid: ({ problems }) => void seen.push(`invalid: ${problems.join()}`),
    log: createLogger('test', 'silent'),
    registry: createRegistry('test'),
    everyMs: 1,
  });
  watch.follow([
    {
      ...{ messages: { read: 'read', failed: 'failed' }, used: () => 'first' },
      text: () => {
        readings += 1;
        if (readings > texts.length + 2) end(undefined);
        const text = texts[Math.min(readings, texts.length) - 1] ?? '';
        return text === 'gone' ? Promise.reject(new Error('gone')) : Promise.resolve(text);
      },
      use: (text) => {
        seen.push(text);
        return text.startsWith('wrong') ? Promise.reject(new CatalogueError([text])) : Promise.resolve();
      },
    },
  ]);
  watch.start();
  await isOver;
  await watch.stop();
  return seen;
}

it.each([
  [['first', 'first'], []],
  [['first', 'half', 'more', 'next', 'next'], ['next']],
  [
    ['half', 'half', 'whole'],
    ['half', 'whole'],
  ],
  [
    ['wrong', 'wrong', 'wrong', 'wrong'],
    ['wrong', 'invalid: wrong'],
  ],
  [
    ['wrong', 'wrong', 'first', 'first', 'wrong', 'wrong'],
    ['wrong', 'invalid: wrong', 'first', 'wrong', 'invalid: wrong'],
  ],
  [['gone', 'first', 'gone', 'next'], ['next']],
  [
    ['gone', 'gone', 'gone', 'next'],
    ['invalid: gone', 'next'],
  ],
])('readings %j: a text counts, once, when two in a row agree', async (texts, expected) => {
  expect(await seenOf(texts)).toEqual(expected);
});

it('reads a text again that could not be used, ever more rarely, and reports each failure once', async () => {
  const { promise: isUsed, resolve: end } = Promise.withResolvers<undefined>();
  const uses: number[] = [];
  const reports: string[] = [];
  const failures = ['busy', 'busy', 'away', 'busy', null];
  // Each reading of the clock takes a second.
  let seconds = 0;
  const watch = new CatalogueWatch({
    onInvalid: ({ problems }) => void reports.push(problems.join()),
    log: createLogger('test', 'silent'),
    registry: createRegistry('test'),
    everyMs: 1,
    now: () => (seconds += 1) * 1_000,
  });
  watch.follow([
    {
      ...{ messages: { read: 'read', failed: 'failed' }, used: () => 'first' },
      text: () => Promise.resolve('next'),
      use: async () => {
        uses.push(seconds);
        const failure = failures[uses.length - 1];
        if (typeof failure === 'string') throw new Error(failure);
        end(undefined);
      },
    },
  ]);
  watch.start();
  await isUsed;
  const pauses = uses.slice(1).map((at, index) => at - (uses[index] ?? 0));
  await watch.stop();
  expect(reports).toEqual(['busy', 'away', 'busy']);
  for (const [index, pause] of pauses.entries()) {
    expect(pause).toBeGreaterThanOrEqual(2 ** index * 5);
    expect(pause).toBeLessThanOrEqual(2 ** index * 20);
  }
  expect(pauses).toHaveLength(4);
});
