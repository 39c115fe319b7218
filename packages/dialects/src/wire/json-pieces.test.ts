import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { jsonPieces } from './json-pieces.ts';
import { DeferredText, RawJson, writeJson } from './json-text.ts';

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.jsonValue(),
    fc.string({ unit: 'binary' }),
    fc.constant(undefined),
    fc.jsonValue().map((each) => new RawJson(JSON.stringify(each))),
    tie('value').map((each) => new DeferredText(() => each ?? null)),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 5 }),
  ),
}));

it('pieces of JSON are together the JSON of a value', () => {
  fc.assert(
    fc.property(value, (each) => {
      expect([...jsonPieces([each])].join('')).toBe(writeJson([each]));
    }),
  );
});

it('pieces are short, and no character is cut', () => {
  const text = '"😀'.repeat(200_000);
  const pieces = [...jsonPieces({ text, list: Array.from({ length: 10_000 }, () => null) })];
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(200_000);
  expect(JSON.parse(Buffer.concat(pieces.map((each) => Buffer.from(each))).toString())).toMatchObject({
    text,
  });
});
