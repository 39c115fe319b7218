import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { piecesOf } from './reply-pieces.ts';
import type { ReplyStyle } from './reply-style.ts';

const one = (markdown: string, style: ReplyStyle): string => {
  const pieces = piecesOf({ markdown, style, maxChars: 4_096 });
  expect(pieces).toHaveLength(1);
  return pieces[0]?.text ?? '';
};

const sample = `# Title

Some **bold**, *slanted*, ~~gone~~ and \`a < b\` with [a link](https://example.com/?a=1&b=2).

- first
- second
  1. inner

> quoted <b>

\`\`\`sh
echo "1 < 2"
\`\`\`

| a | b |
|---|---|
| 1 | 2 |`;

describe('an answer', () => {
  it('is HTML for Telegram', () => {
    expect(one(sample, 'telegram')).toBe(
      [
        '<b>Title</b>',
        'Some <b>bold</b>, <i>slanted</i>, <s>gone</s> and <code>a &lt; b</code> with ' +
          '<a href="https://example.com/?a=1&amp;b=2">a link</a>.',
        '• first\n• second\n  1. inner',
        '<blockquote>quoted &lt;b&gt;</blockquote>',
        '<pre>echo "1 &lt; 2"</pre>',
        '<pre>a | b\n1 | 2</pre>',
      ].join('\n\n'),
    );
  });

  it('is mrkdwn for Slack', () => {
    expect(one(sample, 'slack')).toBe(
      [
        '*Title*',
        'Some *bold*, _slanted_, ~gone~ and `a &lt; b` with <https://example.com/?a=1&amp;b=2|a link>.',
        '• first\n• second\n  1. inner',
        '> quoted &lt;b&gt;',
        '```\necho "1 &lt; 2"\n```',
        '```\na | b\n1 | 2\n```',
      ].join('\n\n'),
    );
  });

  it('has no markup where a provider knows none', () => {
    expect(one(sample, 'plain')).toBe(
      [
        'Title',
        'Some bold, slanted, gone and a < b with a link (https://example.com/?a=1&b=2).',
        '• first\n• second\n  1. inner',
        '> quoted <b>',
        'echo "1 < 2"',
        'a | b\n1 | 2',
      ].join('\n\n'),
    );
  });

  it('stays as it is where the provider takes Markdown', () => {
    expect(one(sample, 'markdown')).toBe(sample);
  });
});

describe('a long answer', () => {
  it('is split at ends of sentences', () => {
    const markdown = 'One is here. Two is there. Three is nowhere.';
    const pieces = piecesOf({ markdown, style: 'plain', maxChars: 30 });
    expect(pieces.map(({ text }) => text.trim())).toEqual([
      'One is here. Two is there.',
      'Three is nowhere.',
    ]);
  });

  it('keeps a block of code a block in each message', () => {
    const markdown = `\`\`\`\n${'line of code\n'.repeat(20)}\`\`\``;
    const pieces = piecesOf({ markdown, style: 'slack', maxChars: 100 });
    expect(pieces.length).toBeGreaterThan(2);
    for (const { text } of pieces) expect(text).toMatch(/^```\n(line of code\n)+```$/);
  });

  it.each(['telegram', 'slack', 'plain', 'markdown'] as const)('has messages that fit, for %s', (style) => {
    const word = fc.stringMatching(/^[a-z<&*_`>#|\-[\]()]{1,12}$/);
    const text = fc.array(fc.tuple(word, fc.constantFrom(' ', '. ', '\n', '\n\n', '\n- ')), {
      maxLength: 300,
    });
    fc.assert(
      fc.property(text, (parts) => {
        const markdown = parts.map(([some, end]) => `${some}w${end}`).join('');
        const pieces = piecesOf({ markdown, style, maxChars: 200 });
        for (const piece of pieces)
          expect(Math.max(piece.text.length, piece.plainText.length)).toBeLessThanOrEqual(200);
        const letters = (from: string): number => from.replaceAll(/[^a-z]/g, '').length;
        if (style === 'markdown' && pieces.length < 50)
          expect(pieces.reduce((sum, piece) => sum + letters(piece.text), 0)).toBe(letters(markdown));
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ['a long list', '- item\n'.repeat(4_000), 7],
    ['deep quotes', `${'> '.repeat(400)}a`, 2],
    ['an empty block', '```', 1],
    ['more than anybody reads', 'word '.repeat(60_000), 50],
  ])('is written in time, and fits, for %s', (_what, markdown, count) => {
    const began = performance.now();
    const pieces = piecesOf({ markdown, style: 'telegram', maxChars: 4_096 });
    // Of three seconds that it may take; here it takes 0.6.
    expect(performance.now() - began).toBeLessThan(6_000);
    expect(pieces).toHaveLength(count);
    for (const { text, plainText } of pieces)
      expect(Math.max(text.length, plainText.length)).toBeLessThanOrEqual(4_096);
  });
});
