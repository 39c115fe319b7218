import { expect, it } from '@jest/globals';
import { csvLine, csvOf } from './csv.ts';

it('quotes cells, and makes none a formula', () => {
  const rows = [
    ['gpt-4.1', '0.000001024000'],
    ['a "b", c', 'two\nlines'],
    ['=HYPERLINK("x")', '-1'],
  ];
  expect(csvOf(['Model', 'Cost'], rows)).toBe(
    [
      'Model,Cost',
      'gpt-4.1,0.000001024000',
      '"a ""b"", c","two\nlines"',
      `"'=HYPERLINK(""x"")",'-1`,
      '',
    ].join('\r\n'),
  );
});

it.each(['=1', '+1', '-1', '@SUM(1)', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠SUM(1)'])(
  'puts an apostrophe before %j',
  (text) => {
    expect(csvLine([text]).replaceAll('"', '')).toBe(`'${text}\r\n`);
  },
);

it('leaves null empty and quotes an empty text', () => {
  expect(csvLine([null, '', 'a'])).toBe(',"",a\r\n');
});

it('takes numbers as they are', () => {
  expect(csvLine([-1, 1e21, 0])).toBe('-1,1e+21,0\r\n');
});

it.each(['"', 'a"b', '\ufeff"é🙂"', 'a\n'])('quotes long text like short text: %j', (text) => {
  const long = text.repeat(5_000);
  expect(csvLine([long])).toBe(`"${long.replaceAll('"', '""')}"\r\n`);
});
