import { describe, expect, it } from '@jest/globals';
import { createLookup } from './lookup.ts';

/** Statements that run, each with the keys it finds and its end. */
function gatedStatements() {
  const running: { keys: readonly string[]; end: () => void }[] = [];
  const find = (keys: readonly string[]): Promise<string[]> =>
    new Promise((resolve) => {
      running.push({ keys, end: () => resolve(keys.filter((key) => key.startsWith('good'))) });
    });
  return { running, lookUp: createLookup({ known: find, others: find }, (found) => found) };
}

describe('looking up keys', () => {
  it('takes two statements for any number of unknown keys at once', async () => {
    const { running, lookUp } = gatedStatements();
    const answers = Promise.all(Array.from({ length: 600 }, (_, index) => lookUp(`bad ${index}`, false)));
    running[0]?.end();
    await Promise.resolve();
    await new Promise(setImmediate);
    running[1]?.end();
    expect(new Set(await answers)).toEqual(new Set([null]));
    expect(running.map(({ keys }) => keys.length)).toEqual([1, 599]);
  });

  it('finds a known key while a statement for others hangs', async () => {
    const { running, lookUp } = gatedStatements();
    const other = lookUp('bad', undefined);
    const known = lookUp('good', true);
    running[1]?.end();
    expect(await known).toBe('good');
    running[0]?.end();
    expect(await other).toBeNull();
  });
});
