import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lexer, marked } from 'marked';
import { piecesOf, unformatted } from './reply-pieces.ts';
import type { ReplyStyle } from '../channels/adapter.ts';

const one = (markdown: string, style: ReplyStyle): string => {
  const pieces = piecesOf({ markdown, style, maxChars: 4_096 });
  expect(pieces).toHaveLength(1);
  return pieces[0]?.text ?? '';
};

/** The links of Markdown that clients must not follow, and its HTML. */
function unsafeIn(markdown: string): string[] {
  const found: string[] = [];
  void marked.walkTokens(lexer(markdown), (token) => {
    const { type, raw, href } = token as { type: string; raw: string; href?: string };
    if (type === 'html' || (href !== undefined && !/^(?:https?:\/\/|mailto:)/i.test(href))) found.push(raw);
  });
  return found;
}

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

  it('stays as it is where the provider takes Markdown, but for HTML', () => {
    expect(one(sample, 'markdown')).toBe(sample.replace('quoted <b>', 'quoted \\<b\\>'));
  });
});

describe('links', () => {
  const hostile = [
    '[hello](!channel)',
    '[hello](<!here>)',
    '[hello](@U012345)',
    '[hello](#C012345)',
    '[hello](tg://user?id=12345)',
    '[hello](javascript:alert(1))',
    '[hello](JavaScript&#58;alert)',
    '[hello](data:text/html,x)',
    '[hello][ref]\n\n[ref]: javascript:alert(1)',
    '![hello](tg://user?id=12345)',
    '> [hello\n> you](tg://user?id=12345)',
    '| [hello](tg://user?id=1) |\n|---|\n| [hello](!channel) |',
    '- [**hello**](skype:hello?call)',
    '# [hello](!everyone)',
    '[hello](https:!channel)',
  ];

  it.each(hostile)('%s is its text, for Telegram and Slack', (markdown) => {
    for (const style of ['telegram', 'slack', 'plain'] as const) {
      const text = one(markdown, style);
      expect(text).toContain('hello');
      expect(text).not.toMatch(/<a |<[!@#]|<\w+:|href|tg:|script|everyone|channel|skype/i);
    }
  });

  it.each(hostile)('%s is no link in Markdown', (markdown) => {
    const text = one(markdown, 'markdown');
    expect(text).toContain('hello');
    expect(JSON.stringify(lexer(text))).not.toMatch(/"type":"(link|image|html)"/);
  });

  it.each([
    '`[x](javascript:0)` [x](javascript:0)',
    '[[[x](javascript:0)]](javascript:1)',
    '[a [[x](javascript:0)] b](javascript:1)',
    'text\n\n    [x](javascript:0)',
    'at ftp://example.com',
  ])('are none in Markdown, whatever is replaced around them: %s', (markdown) => {
    for (const maxChars of [20, 4_096])
      for (const { text } of piecesOf({ markdown, style: 'markdown', maxChars }))
        expect(unsafeIn(text)).toEqual([]);
  });

  it('in any Markdown lead to the web or a mailbox', () => {
    const word = fc.constantFrom(
      ...[
        'a',
        '[',
        ']',
        '](javascript:0)',
        '[x](javascript:0)',
        '](https://a.b)',
        '![',
        '`',
        '*',
        '\\',
        '&#58;',
      ],
      ...['    ', '\n', '\n\n', '> ', '- ', '|', '|-|', '[r]', '\n[r]: javascript:1\n', '<b>', '<!--', '-->'],
      ...[
        '<javascript:0>',
        'https://a.b/>',
        'www.a.b/\u0001',
        'ftp://a.b',
        '<',
        '>',
        '(',
        ')',
        '~~',
        '```\n',
      ],
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 20 }), fc.constantFrom(40, 4_096), (words, maxChars) => {
        for (const { text } of piecesOf({ markdown: words.join(''), style: 'markdown', maxChars }))
          expect(unsafeIn(text)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    '<!channel>',
    'hi <!here|you>',
    '<@U012345>',
    '`<!here>`',
    '**<!subteam^S1>**',
    '<a href="tg://user?id=1">x</a>',
  ])('in the text itself stay text: %s', (markdown) => {
    for (const style of ['telegram', 'slack'] as const)
      expect(one(markdown, style)).not.toMatch(/<[!@#]|<a /);
    expect(JSON.stringify(lexer(one(markdown, 'markdown')))).not.toMatch(/"type":"(link|image|html)"/);
  });

  it.each(['https://example.com/a_b?c=(d)', 'http://example.com', 'mailto:ann@example.com'])(
    'to the web or a mailbox stay links: %s',
    (url) => {
      const markdown = `See [it](${url}), or <${url}>.`;
      expect(one(markdown, 'telegram')).toContain(`<a href="${url}">it</a>`);
      expect(one(markdown, 'slack')).toContain(`<${url}|it>`);
      expect(one(markdown, 'plain')).toContain(`it (${url})`);
      expect(one(markdown, 'markdown')).toBe(markdown);
    },
  );

  it('of what is too long to be formatted stay text', () => {
    const [piece] = unformatted('[hello](javascript:alert) <!channel>', {
      style: 'markdown',
      maxChars: 4_000,
    });
    expect(JSON.stringify(lexer(piece?.text ?? ''))).not.toMatch(/"type":"(link|image|html)"/);
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
        // Without links: the target of one that must not be followed is left out.
        const markdown = parts
          .map(([some, end]) => `${some}w${end}`)
          .join('')
          .replaceAll('](', '] (');
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
    // It may take three seconds, and takes 0.6 here.
    expect(performance.now() - began).toBeLessThan(6_000);
    expect(pieces).toHaveLength(count);
    for (const { text, plainText } of pieces)
      expect(Math.max(text.length, plainText.length)).toBeLessThanOrEqual(4_096);
  });
});
