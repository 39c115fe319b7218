import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cleanCorpus } from '../../test/clean-corpus.ts';
import { exampleJwt, exampleKeys, examplePrivateKey } from '../../test/example-secrets.ts';
import { piiShapes, piiTypes } from './pii.ts';
import { secretShapes, secretTypes } from './secrets.ts';
import { longestCandidate } from './shape.ts';
import { findShapes, joinContinued, ShapeScan, type Match } from './shape-scan.ts';

const regions = ['US', 'VN', 'DE', 'GB', 'FR'];
const shapes = [...piiShapes({ types: piiTypes, regions }), ...secretShapes(secretTypes)];

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

/** Scans a text in parts, and checks the order of reports and the hold-back. */
function scanParts(text: string, sizes: readonly number[]): Match[] {
  const scan = new ShapeScan(shapes);
  const matches: Match[] = [];
  const begun = new Set<string>();
  let cleared = 0;
  const add = (result: ReturnType<ShapeScan['push']>) => {
    for (const match of result.matches) {
      const name = `${match.type} ${String(match.start)}`;
      if (!begun.has(name)) expect(match.start).toBeGreaterThanOrEqual(cleared);
      begun.add(name);
    }
    matches.push(...result.matches);
    expect(result.cleared).toBeGreaterThanOrEqual(cleared);
    cleared = result.cleared;
  };
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    add(scan.push(text.slice(at, at + size)));
    at = Math.min(at + size, text.length);
    expect(at - cleared).toBeLessThanOrEqual(longestCandidate);
  }
  add(scan.end());
  expect(cleared).toBe(text.length);
  return joinContinued(matches);
}

describe('a scan', () => {
  it('finds the same in parts of any size as in the whole text', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(texts, sizes, (text, parts) => {
        expect(scanParts(text, parts)).toEqual(findShapes(shapes, text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('finds the same in single characters', () => {
    const text = values.join('\n');
    expect(scanParts(text, [1])).toEqual(findShapes(shapes, text));
  });

  it.each(Object.entries(cleanCorpus))('finds nothing in clean %s', (_, text) => {
    const matches = findShapes(shapes, text).map(({ type, start, end }) => [type, text.slice(start, end)]);
    expect(matches).toEqual([]);
  });

  it('removes a long key without holding it back', () => {
    const key = examplePrivateKey('PRIVATE KEY', '\n', 100);
    const scan = new ShapeScan(shapes);
    scan.push(key.slice(0, 300));
    const { matches, cleared } = scan.push(key.slice(300, 3_000));
    expect(cleared).toBeGreaterThan(2_900);
    expect(matches).toContainEqual({ type: 'private_key', start: 0, end: 3_000 });
  });

  it('clears words as soon as no address may begin with them', () => {
    const scan = new ShapeScan(piiShapes({}));
    expect(scan.push('Hello wor').cleared).toBe(6);
    expect(scan.push('ld, ').cleared).toBe(13);
    expect(scan.push('4111 ').cleared).toBe(13);
    expect(scan.push('people').cleared).toBe(18);
  });
});
