import { expect, it } from '@jest/globals';
import { csvOf } from './csv.ts';

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
