import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cleanCorpus } from '../test/clean-corpus.ts';
import { exampleJwt, exampleKeys, examplePrivateKey } from '../test/example-secrets.ts';
import { piiShapes, piiTypes } from './checks/pii.ts';
import { secretShapes, secretTypes } from './checks/secrets.ts';
import { longestCandidate } from './checks/shape.ts';
import { shapesCheck } from './compiled-check.ts';
import type { TextMatch } from './text-scan.ts';
import { lastReports, matchesOf, piecesOf, stepsOf, textsOfShapes } from '../test/scans.ts';

const regions = ['US', 'VN', 'DE', 'GB', 'FR'];
const shapes = [...piiShapes({ types: piiTypes, regions }), ...secretShapes(secretTypes)];

const checks = [shapesCheck(shapes, [])];

const values = [
  'jane.doe@acme.co.uk',
  'jane%40acme.com',
  'git@github.com:acme/x',
  '+84 912 345 678',
  '(212) 555-2368',
  '0912 345 678',
  '4111 1111 1111 1111',
  '3782 822463 10005',
  '4111111111111111',
  'DE89 3704 0044 0532 0130 00',
  '81.2.69.142',
  '2606:4700:4700::1111',
  '536-90-4399',
  '079203001234',
  'postgres://app:s3cr3t9@db.acme.internal:5432/app?x=1',
  'Server=db;User Id=sa;Password=Kq83nd!x;',
  'password = "x9Kd83nQz!Lm"',
  'jane@',
  '4111 1111',
  '+84 9',
  'sk-ant-',
  '-----BEGIN ',
  'password:',
  ...Object.values(cleanCorpus).flatMap((text) => text.split('\n')),
  exampleJwt,
  examplePrivateKey('RSA PRIVATE KEY', '\n', 8),
  examplePrivateKey('PRIVATE KEY', String.raw`\n`, 8),
  ...exampleKeys,
];

const joint = fc.constantFrom(' ', '\n', '', ', ', '"', '\\n', '-', '.', ':', '/', '+', '(', 'a', '1', '谢');
const texts = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...values), fc.string({ maxLength: 12 })), joint), {
    maxLength: 8,
  })
  .map((parts) => parts.flat().join(''));

/** Scans a text in pieces, and checks the order of reports and the hold-back. */
function scanPieces(text: string, sizes: readonly number[]): TextMatch[] {
  const steps = stepsOf(checks, piecesOf(text, sizes));
  const begun = new Set<string>();
  let before = 0;
  for (const [at, { matches, cleared, length }] of steps.entries()) {
    for (const { type, from } of matches) {
      const name = `${type} ${from}`;
      if (!begun.has(name)) expect(from).toBeGreaterThanOrEqual(before);
      expect(from).toBeLessThan(cleared);
      begun.add(name);
    }
    expect(cleared).toBeGreaterThanOrEqual(before);
    before = cleared;
    if (at < steps.length - 1) expect(length - cleared).toBeLessThanOrEqual(longestCandidate + 1);
  }
  expect(before).toBe(text.length);
  return lastReports(steps);
}

describe('a scan for shapes', () => {
  it('finds the same in pieces of any size as in the whole text', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(texts, sizes, (text, pieces) => {
        expect(scanPieces(text, pieces)).toEqual(matchesOf(checks, text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('finds the same in single characters', () => {
    const text = values.join('\n');
    expect(scanPieces(text, [1])).toEqual(matchesOf(checks, text));
  });

  it.each(Object.entries(cleanCorpus))('finds nothing in clean %s', (_, text) => {
    expect(textsOfShapes(shapes, text)).toEqual([]);
  });

  it('removes a long key without holding it back', () => {
    const key = examplePrivateKey('PRIVATE KEY', '\n', 100);
    const [, second] = stepsOf(checks, [key.slice(0, 300), key.slice(300, 3_000)]);
    expect(second?.cleared).toBeGreaterThan(2_900);
    expect(second?.matches).toContainEqual({ check: 0, type: 'private_key', from: 0, until: 2_999 });
  });

  it('clears words as soon as no address may begin with them', () => {
    const steps = stepsOf([shapesCheck(piiShapes({}), [])], ['Hello wor', 'ld, ', '4111 ', 'people']);
    expect(steps.map(({ cleared }) => cleared)).toEqual([6, 13, 13, 18, 24]);
  });
});
