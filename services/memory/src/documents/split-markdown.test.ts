import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  isOnePassage,
  markdownSpans,
  splitMarkdown,
  splitPlain,
  unmarked,
  type Passage,
} from './split-markdown.ts';

const maxChars = 1_500;
const paragraph = 'The quick brown fox jumps over the lazy dog near the river bank. '.repeat(10);

function linesOf(text: string, { startLine, endLine }: Passage): string {
  return text
    .split('\n')
    .slice(startLine - 1, endLine)
    .join('\n');
}

describe('splitting Markdown', () => {
  it('begins passages at headings, and names the headings above each', () => {
    const text = `# Guide\n\n${paragraph}\n\n## Install\n\n${paragraph}\n\n### Linux *now*\n\n${paragraph}\n\n# End\n\nBye.\n`;
    const passages = splitMarkdown(text);
    expect(passages.map(({ context, startLine }) => [context, startLine])).toEqual([
      ['', 1],
      ['Guide', 5],
      ['Guide > Install', 9],
      ['', 13],
    ]);
    expect(passages[2]?.text.startsWith('### Linux *now*\n\nThe quick')).toBe(true);
    for (const passage of passages) expect(linesOf(text, passage)).toContain(passage.text);
  });

  it('keeps short sections together', () => {
    const text = '# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree';
    expect(splitMarkdown(text)).toEqual([{ startLine: 1, endLine: 11, context: '', text }]);
  });

  it('keeps a block whole where it can, and cuts lists between items', () => {
    const items = Array.from({ length: 40 }, (_, index) => `- item ${index} ${'word '.repeat(20).trim()}`);
    const text = `Intro\n\n${items.join('\n')}\n`;
    const passages = splitMarkdown(text);
    expect(passages.length).toBeGreaterThan(2);
    for (const passage of passages.slice(1)) expect(passage.text).toMatch(/^- item/);
    for (const passage of passages) expect(linesOf(text, passage)).toContain(passage.text);
    expect(
      passages
        .map((each) => each.text)
        .join('\n')
        .match(/- item/g),
    ).toHaveLength(40);
  });

  it('does not take the marks inside code for headings', () => {
    const text = `# Real\n\n\`\`\`sh\n# not a heading\n${'echo x\n'.repeat(300)}\`\`\`\n`;
    for (const { context, text: passage } of splitMarkdown(text))
      expect([context, passage.startsWith('# Real\n')]).toEqual(['', true]);
  });

  it('begins passages in the middle of a section with its heading', () => {
    const text = `# Guide\n\n## Install *now*\n\n${`${paragraph}\n\n`.repeat(4)}`;
    const passages = splitMarkdown(text);
    expect(passages.map(({ startLine, endLine }) => [startLine, endLine])).toEqual([
      [1, 7],
      [9, 11],
    ]);
    expect(passages[1]).toMatchObject({
      context: 'Guide',
      text: expect.stringMatching(/^## Install \*now\*\n\nThe quick/),
    });
  });

  it('names a heading as context where a long paragraph leaves no room for it', () => {
    const long = 'word '.repeat(299).trim();
    const [, second] = splitMarkdown(`# Guide\n\n${long}\n\n${long}\n`);
    expect(second).toMatchObject({ context: 'Guide', text: long });
  });

  it('splits a mebibyte of one line, and of headings, into at most 2,000 passages', () => {
    const mebibyte = 1_048_576;
    for (const text of [
      'x'.repeat(mebibyte),
      'word '.repeat(mebibyte / 5),
      '\n'.repeat(mebibyte),
      '# A heading\n'.repeat(100_000).slice(0, mebibyte),
      `${'x'.repeat(601)}\n# h\n`.repeat(1_700),
    ]) {
      const passages = splitPlain(text).length;
      expect(passages).toBeLessThanOrEqual(2_000);
    }
    const table = `# ${'h'.repeat(300)}\n\n| ${'a'.repeat(300)} |\n|-|\n`;
    for (const text of [
      `${table}${`| ${'b'.repeat(530)} |\n`.repeat(1_900)}`.slice(0, mebibyte),
      `# ${'h'.repeat(300)}\n\n\`\`\`${'a'.repeat(300)}\n${`${'b'.repeat(533)}\n`.repeat(1_960)}`.slice(
        0,
        mebibyte,
      ),
    ])
      expect(splitMarkdown(text).length).toBeLessThanOrEqual(2_000);
    expect(splitMarkdown('# h\n\ntext\n\n'.repeat(20_000)).length).toBeLessThanOrEqual(2_000);
  });

  it('never cuts a character in two', () => {
    for (const split of [splitMarkdown, splitPlain])
      for (const { text } of split(`a${'🦆'.repeat(2_000)}`)) expect(text.isWellFormed()).toBe(true);
  });
});

describe('any text', () => {
  const unit = fc.constantFrom(
    '# h\n',
    '- i\n',
    '> q\n',
    'w ',
    '\n',
    '\r\n',
    '```\n',
    '🦆',
    '\t',
    '    code\n',
    '  ',
    '1. i\n',
    ':\n\n',
    '| a | b |\n| - | - |\n',
    '| cell | and another |\n'.repeat(50),
    '- an item of a list\n'.repeat(60),
    'x'.repeat(700),
  );
  const texts = fc.array(unit, { maxLength: 40 }).map((units) => units.join(''));

  it('loses nothing but white space, and is in order in passages that are not too long', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const bare = (part: string): string => part.replace(/\s/g, '');
        const bareText = bare(unmarked(text));
        const spans = markdownSpans(unmarked(text));
        const split = splitMarkdown(text);
        expect(bare(spans.map(({ start, end }) => unmarked(text).slice(start, end)).join(''))).toBe(bareText);
        expect(
          bare(
            splitPlain(text)
              .map((passage) => passage.text)
              .join(''),
          ),
        ).toBe(bareText);
        for (const [at, { start, end, lead, tail }] of spans.entries()) {
          const passage = split[at];
          if (passage === undefined) throw new Error('a span is no passage');
          const own = passage.text.slice(lead.length, passage.text.length - tail.length);
          expect(own).toBe(unmarked(text).slice(start, end));
          expect(linesOf(unmarked(text), passage)).toContain(own);
          expect(passage.text.isWellFormed()).toBe(true);
        }
        for (const passages of [split, splitPlain(text)]) {
          let line = 1;
          for (const passage of passages) {
            expect(passage.text.length).toBeLessThanOrEqual(maxChars);
            expect(passage.startLine).toBeGreaterThanOrEqual(line);
            line = passage.endLine;
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is one passage, without a look at its Markdown, if it is short and has no marks of headings', () => {
    const lines = fc.constantFrom(
      '# h\n',
      'h\n=\n',
      'h\n-\n',
      '1. i\n',
      '<!-- x',
      '[a]: b\n',
      '***\n',
      '\ufeff',
      ' ',
    );
    const short = fc.array(fc.oneof(unit, lines), { maxLength: 20 }).map((units) => units.join(''));
    fc.assert(
      fc.property(short.filter(isOnePassage), (text) => {
        expect(splitPlain(text)).toEqual(splitMarkdown(text));
      }),
      { numRuns: 500 },
    );
  });
});
