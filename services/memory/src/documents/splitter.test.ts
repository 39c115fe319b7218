import { afterAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { longestBlock } from '@gatehouse/test/longest-block';
import { Splitter } from './splitter.ts';

const log = createLogger('test', 'silent');
const splitter = new Splitter(log);
afterAll(() => splitter.stop());

describe('the splitter', () => {
  // On the event loop each takes 370 to 1,800 ms.
  it.each([
    ['nested lists', '1. '.repeat(2_730)],
    ['nested emphasis', '*a_ '.repeat(2_048)],
    ['nested quotes', '>'.repeat(8_192)],
    ['open brackets', '['.repeat(8_192)],
  ])('does not block the event loop with 8 kB of %s', async (_what, text) => {
    await splitter.split('# Warm\n\nup', 'warm');
    const blocked = await longestBlock(async () => {
      expect((await splitter.split(text, 'hostile')).length).toBeGreaterThan(0);
    });
    expect(blocked).toBeLessThan(300);
  });

  it('splits a mebibyte that takes a parser minutes as plain text, without blocking the event loop', async () => {
    const blocked = await longestBlock(async () => {
      const passages = await splitter.split('*a_ \n'.repeat(2 ** 18 / 1.25), 'hostile');
      expect(passages.length).toBeGreaterThan(500);
      expect(passages.every(({ context }) => context === '')).toBe(true);
    });
    // It would be minutes. Garbage collection of a mebibyte's passages alone may take a second beside other tests.
    expect(blocked).toBeLessThan(5_000);
  });

  it('splits documents of an import one by one when one of them can’t be parsed', async () => {
    const part = `# Part\n\n${'words '.repeat(120)}`;
    const blocked = await longestBlock(async () => {
      const [before, hostile, after] = await splitter.splitAll(
        [`${part}\n\n${part}`, '1. '.repeat(2_730), `${part}\n\n${part}`],
        't1',
      );
      expect([before?.length, after?.length]).toEqual([2, 2]);
      expect(hostile?.length).toBeGreaterThan(0);
    });
    expect(blocked).toBeLessThan(300);
  });

  it('keeps the headings of a document that waits for those of another tenant', async () => {
    const hostile = Array.from({ length: 3 }, () => splitter.split('*a_ '.repeat(50_000), 'hostile'));
    const text = Array.from({ length: 20 }, (_, n) => `# Part ${n}\n\n${'words '.repeat(100)}`).join('\n\n');
    const passages = await splitter.split(text, 'innocent');
    expect(passages).toHaveLength(20);
    for (const { text: passage } of passages) expect(passage.startsWith('# Part')).toBe(true);
    await Promise.all(hostile);
  });
});
