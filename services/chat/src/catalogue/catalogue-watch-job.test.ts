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
    files: [
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
    ],
    onInvalid: ({ problems }) => void seen.push(`invalid: ${problems.join()}`),
    log: createLogger('test', 'silent'),
    registry: createRegistry('test'),
    everyMs: 1,
  });
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
