import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { splitMarkdown } from './split-markdown.ts';

/** Passages behind the first. */
const later = (text: string): string[] =>
  splitMarkdown(text)
    .slice(1)
    .map((passage) => passage.text);
const numbered = (line: (n: number) => string, count = 120): string =>
  Array.from({ length: count }, (_, n) => line(n)).join('\n');

describe('a passage from the middle of', () => {
  it.each([
    [
      'a table',
      `# Settings\n\n| name | default |\n| :-- | --: |\n${numbered((n) => `| knob_${n} | how long part ${n} waits |`)}\n`,
      /^# Settings\n\n\| name \| default \|\n\| :-- \| --: \|\n\| knob_\d+ \| how/,
    ],
    [
      'a table without outer pipes, below a line of text',
      `Defaults:\nname | default\n--- | ---\n${numbered((n) => `knob_${n} | how long part ${n} waits`)}\n`,
      /^name \| default\n--- \| ---\nknob_\d+ \| how/,
    ],
    [
      'a table with an introduction',
      `## All\n\nThese are the defaults:\n\n| a\\|b |\n|-|\n${numbered((n) => `| how long part ${n} waits |`)}\n`,
      /^## All\n\nThese are the defaults:\n\n\| a\\\|b \|\n\|-\|\n\| how/,
    ],
    [
      'a table in a quote',
      `> a | b\n> --- | ---\n${numbered((n) => `> ${n} | how long part ${n} waits`)}\n`,
      /^a \| b\n--- \| ---\n> \d+ \| how/,
    ],
    [
      'a table with Windows line ends',
      `| a | b |\r\n|---|---|\r\n${numbered((n) => `| ${n} | how long part ${n} waits |\r`)}\n`,
      /^\| a \| b \|\n\|---\|---\|\n\| \d+ \| how/,
    ],
    [
      'a table whose header is too wide',
      `| ${'name '.repeat(30)}|${' wide |'.repeat(60)}\n|${' --- |'.repeat(61)}\n${numbered((n) => `| how long part ${n} waits |`)}\n`,
      /^\| name name.*…\n(?:\|-){61}\|\n\| how/,
    ],
    [
      'a table of HTML',
      `<table class="a">\n<thead><tr><th>name</th></tr></thead>\n${numbered((n) => `<tr><td>how long part ${n} waits</td></tr>`)}\n</table>\n`,
      /^<table class="a">\n<thead><tr><th>name<\/th><\/tr><\/thead>\n<tr><td>how/,
    ],
    [
      'code',
      `# Code\n\n~~~~python title="a"\n${numbered((n) => `def f_${n}(x):\n    return x + ${n}`)}\n~~~~\n\nEnd.\n`,
      /^# Code\n\n~~~~python title="a"\n(?:def f_| {4}return x)/,
    ],
    [
      'a list with an introduction',
      `## Rules\n\nNever do this:\n\n${numbered((n) => `${n + 1}. the deed with the number ${n}`)}\n`,
      /^## Rules\n\nNever do this:\n\n\d+\. the deed/,
    ],
    [
      'a list in items of a list',
      `# Laws\n\n- Here:\n  - Never:\n${numbered((n) => `    - the deed with the number ${n}`)}\n- There\n`,
      /^# Laws\n\n- Here:\n {2}- Never:\n {4}- the deed/,
    ],
    [
      'a long item of a list',
      `- ${'first '.repeat(5)}\n${numbered((n) => `  the line with the number ${n}`)}\n`,
      /^- (?:first )+first\n {2}the line/,
    ],
  ])('%s begins as that does', (_what, text, expected) => {
    const passages = later(text);
    expect(passages.length).toBeGreaterThan(1);
    for (const passage of passages) expect(passage).toMatch(expected);
  });

  it('a long line of a table has the header too', () => {
    const rows = numbered((n) => `| ${n} | ${'cell '.repeat(280)} |`, 4);
    for (const passage of later(`| a | b |\n| - | - |\n${rows}\n`))
      expect(passage).toMatch(/^\| a \| b \|\n\| - \| - \|\n/);
  });

  it.each([
    [
      'text with a row that has other cells',
      `a | b\n--- | --- | ---\n${numbered((n) => `how long part ${n} waits`)}`,
    ],
    ['indented code', numbered((n) => `    how long part ${n} waits`)],
  ])('%s repeats nothing', (_what, text) => {
    const passages = later(text);
    expect(passages.length).toBeGreaterThan(0);
    for (const passage of passages) expect(text.replaceAll('\r', '')).toContain(passage);
  });
});

it('every passage of code has both fences, and none is empty', () => {
  const line = fc.constantFrom('x = 1', '    return x', '', '`', '~~', 'y'.repeat(900), 'z'.repeat(1_400));
  const fence = fc.constantFrom('```', '~~~~', '````js');
  fc.assert(
    fc.property(fence, fc.array(line, { minLength: 4, maxLength: 200 }), (open, lines) => {
      const close = open.replace(/\w+/, '');
      for (const { text } of splitMarkdown(`Before.\n\n${open}\n${lines.join('\n')}\n${close}\n`)) {
        const fences = text.split('\n').filter((each) => each === open || each === close);
        expect([text, fences.length % 2]).toEqual([text, 0]);
      }
    }),
    { numRuns: 200 },
  );
});
