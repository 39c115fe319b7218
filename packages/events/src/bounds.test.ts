import { expect, it } from '@jest/globals';
import { auditEntry } from '@gatehouse/contract/audit';
import { unboundedParts } from '@gatehouse/test/unbounded';
import { z } from 'zod';
import { runEndedData, runStartedData } from './run-event.ts';
import { watermarkData } from './watermark.ts';

it.each([
  ['the start of a run', runStartedData],
  ['the end of a run', runEndedData],
  ['a watermark', watermarkData],
  ['an administrative change', auditEntry],
])('every text, list and map in the event of %s has a maximum', (_name, shape) => {
  const schema = z.toJSONSchema(shape, { io: 'output' });
  expect(unboundedParts(schema, schema)).toEqual([]);
});

it('a schema with an unbounded part would be found', () => {
  const shape = z.object({
    text: z.string(),
    open: z.string().regex(/^a+$/),
    number: z.int(),
    list: z.array(z.uuid()),
    map: z.record(z.string().max(5), z.number()),
    fine: z.string().regex(/^[a+]{1,5}(b|c)?$/),
  });
  const schema = z.toJSONSchema(shape);
  expect(unboundedParts(schema, schema)).toEqual([
    '.text: text',
    '.open: text',
    '.number: number',
    '.list: list',
    '.map: map',
  ]);
});
