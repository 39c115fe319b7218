import fc from 'fast-check';
import { exampleKeys } from '../test/example-secrets.ts';
import { lastReports, matchesOf, piecesOf, stepsOf } from '../test/scans.ts';
import { piiShapes } from './checks/pii.ts';
import { secretShapes } from './checks/secrets.ts';
import { compileRules } from './compile-rules.ts';
import { type CompiledCheck, patternsCheck, shapesCheck } from './compiled-check.ts';
import { patternRules } from './pattern-rules.ts';
import { mostMatches } from './text-scan.ts';

interface Patterns {
  patterns?: Record<string, string>;
  words?: string[];
  except?: string[];
}

function patternsOf({ patterns = {}, words = [], except = [] }: Patterns): CompiledCheck {
  const definition = {
    type: 'patterns' as const,
    patterns: Object.entries(patterns).map(([name, regex]) => ({ name, regex, case_sensitive: true })),
    words,
  };
  return patternsCheck(definition, compileRules(patternRules(definition, false)), except);
}

/** The types of matches with their texts. */
function found(checks: readonly CompiledCheck[], text: string): string[] {
  return matchesOf(checks, text).map(
    ({ check, type, from, until }) => `${check} ${type} ${text.slice(from, until)}`,
  );
}

const pii = ['*@acme.com', '+1 212-555-2368', 'joe@corp.io'];
const [key = '', other = ''] = exampleKeys;
const checks = [
  patternsOf({
    patterns: { ticket: String.raw`\bT-\d{2,4}`, note: 'note:[a-z ]*', begin: '^ab', end: 'yz$' },
    words: ['acme', 'acme corp', 'café', '密码', 'corp one'],
    except: ['ACME CORP', 't-123', 'note:', 'note:a b', 'corp one acme'],
  }),
  shapesCheck([...piiShapes({}), ...secretShapes()], pii),
  shapesCheck(piiShapes({ types: ['email'] }), []),
  shapesCheck(secretShapes(), [key]),
];

describe('a scan for all checks of a run', () => {
  test('finds in pieces of any size what it finds in the whole text, and clears nothing before', () => {
    const part = fc.constantFrom(
      ...[
        'acme',
        'Acme Corp',
        'cafe\u0301',
        '我的密码是',
        'corp one acme',
        'T-12',
        'T-123',
        'T-1234',
        'note:',
        'note:a b',
      ],
      ...[
        'jane@acme.com',
        'joe@corp.io',
        'jane@corp.io',
        '+1 212-555-2368',
        '4111 1111 1111 1111',
        'ab',
        'yz',
      ],
      ...[key, `${key}a`, other, ' ', '\n', '.', 'a', 'e', '1', '\u200d', '\u0301', '👩', '\ud83d'],
    );
    const disguise = fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => text,
      (text) => text.normalize('NFD'),
      (text) => Array.from(text).join('\u200b'),
      (text) => text.replace(/\d/g, (each) => String.fromCodePoint(0xff10 + Number(each))),
      (text) => text.replaceAll(' ', '\u3000'),
    );
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(fc.tuple(part, disguise), { maxLength: 12 }), sizes, (parts, cuts) => {
        const text = parts.map(([each, change]) => change(each)).join('');
        const steps = stepsOf(checks, piecesOf(text, cuts));
        const begun = new Set<string>();
        let before = 0;
        for (const { matches, cleared } of steps) {
          expect(cleared).toBeGreaterThanOrEqual(before);
          for (const { check, type, from } of matches) {
            expect(from).toBeLessThan(cleared);
            const name = `${check} ${type} ${from}`;
            if (!begun.has(name)) expect(from).toBeGreaterThanOrEqual(before);
            begun.add(name);
          }
          before = cleared;
        }
        expect(before).toBe(text.length);
        expect(lastReports(steps)).toEqual(matchesOf(checks, text));
      }),
      { numRuns: 1_500 },
    );
  });

  test.each<[Patterns, string, string[]]>([
    [{ words: ['acme'], except: ['ACME'] }, 'acme acmes', []],
    [{ words: ['acme', 'acme corp'], except: ['acme'] }, 'acme, acme corp', ['0 word acme corp']],
    [{ words: ['acme', 'acme corp'], except: ['acme corp'] }, 'acme, acme corp', ['0 word acme']],
    [{ patterns: { t: String.raw`T-\d+` }, except: ['T-1'] }, 'T-1 T-12', ['0 t T-12']],
    [
      { patterns: { t: String.raw`T-\d+` }, except: ['t-0*', '*9*8'] },
      'T-01 T-10 T-198 T-89',
      ['0 t T-10', '0 t T-89'],
    ],
    [{ patterns: { a: '^a', z: 'z$' } }, 'a z a\na z\nz', ['0 a a', '0 z z']],
    [
      { words: ['Đỏ', '密码', 'straße'] },
      'đỏ我的密码是 STRASSE Straße',
      ['0 word đỏ', '0 word 密码', '0 word Straße'],
    ],
    [{ words: ['one two'] }, 'ONE\u3000TWO, one\u200b two', ['0 word ONE\u3000TWO', '0 word one\u200b two']],
  ])('%j in %j', (definition, text, wanted) => {
    for (let size = 1; size <= text.length; size++) {
      expect(found([patternsOf(definition)], text)).toEqual(wanted);
      expect(lastReports(stepsOf([patternsOf(definition)], piecesOf(text, [size])))).toHaveLength(
        wanted.length,
      );
    }
  });

  test('exceptions of one check are matches of another', () => {
    const text = 'jane@example.net joe@acme.com JOE@ACME.COM jane@acme.community';
    const shapes = piiShapes({ types: ['email'] });
    expect(found([shapesCheck(shapes, ['*@acme.com']), shapesCheck(shapes, ['joe@acme.com'])], text)).toEqual(
      ['0 email jane@acme.community', '1 email jane@acme.community'],
    );
    expect(found([shapesCheck(shapes, ['*@acme.com']), shapesCheck(shapes, [])], text)).toEqual([
      '1 email joe@acme.com',
      '1 email JOE@ACME.COM',
      '0 email jane@acme.community',
      '1 email jane@acme.community',
    ]);
  });

  test('what may become an exception is held for 256 characters at most', () => {
    const long = `note:${'a'.repeat(400)}`;
    const checksOfNote = [patternsOf({ patterns: { note: 'note:[a-z]*' }, except: [long, '*@acme.com'] })];
    const steps = stepsOf(checksOfNote, piecesOf(`${long}.`, [1]));
    for (const { length, cleared } of steps) expect(length - cleared).toBeLessThanOrEqual(257);
    expect(lastReports(steps)).toEqual([{ check: 0, type: 'note', from: 0, until: 405 }]);
  });

  test('with very many matches the rest of the text is one', () => {
    const text = 'T-12 acme '.repeat(mostMatches / 2 + 20);
    const check = patternsOf({ patterns: { t: String.raw`T-\d+` }, words: ['acme'] });
    for (const sizes of [[1000], [7], [text.length]]) {
      const matches = lastReports(stepsOf([check], piecesOf(text, sizes)));
      expect(matches).toHaveLength(mostMatches + 1);
      const flood = matches.find(({ until }) => until === text.length);
      const starts = new Set(matches.map(({ from }) => from));
      for (let at = 0; at < (flood?.from ?? text.length); at += 5) expect(starts.has(at)).toBe(true);
    }
  });

  test('with very many matches of several checks each has one for its further ones', () => {
    const checks = [patternsOf({ words: ['acme'] }), patternsOf({ words: ['acme', 'corp'] })];
    const text = `${'acme '.repeat(mostMatches)}corp`;
    const matches = lastReports(stepsOf(checks, piecesOf(text, [1000])));
    expect(matches).toHaveLength(mostMatches + 2);
    for (const check of checks.keys())
      expect(matches.findLast((match) => match.check === check)).toMatchObject({ until: text.length });
  });

  test.each(['hello wor', 'a 12', 'x\u200d', '❤\ufe0f', '中文'])(
    'nothing of %j is held without a reason',
    (text) => {
      const [step] = stepsOf([patternsOf({ words: ['qux'] })], [text]);
      expect(step).toEqual({ cleared: text.length, matches: [], length: text.length });
    },
  );
});
