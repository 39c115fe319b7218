import fc from 'fast-check';
import { checkOfRules, lastReports, matchesOf, piecesOf, stepsOf } from '../test/scans.ts';
import { plain } from './normalized-text.ts';
import { regexRule, type Rule, wordRule } from './rule.ts';
import type { TextMatch } from './text-scan.ts';

const runs = 300;

/** All matches of rules, as spans, by a separate matcher. */
function expected(rules: readonly Known[], text: string): [number, number, number][] {
  return rules.flatMap(({ rule, ends }, index) => {
    const spans: [number, number, number][] = [];
    const read = rule.caseSensitive ? text : text.toLowerCase();
    for (let start = 0; start < text.length; start++) {
      if (rule.edges.start && isWord(text[start - 1])) continue;
      const found = [...ends(read, start)].filter(
        (end) => end > start && !(rule.edges.end && isWord(text[end])),
      );
      if (found.length === 0) continue;
      const end = Math.max(...found);
      const previous = spans.at(-1);
      if (previous !== undefined && previous[2] > start) previous[2] = Math.max(previous[2], end);
      else spans.push([index, start, end]);
    }
    return spans;
  });
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /\w/.test(character);
}

/** The ends of all matches from a place. */
type Ends = (text: string, at: number) => ReadonlySet<number>;

/** An expression, and another way to match it. */
interface Expression {
  readonly regex: string;
  readonly ends: Ends;
}

interface Known {
  readonly rule: Rule;
  readonly ends: Ends;
}

const character = (regex: string, matches: (each: string) => boolean): Expression => ({
  regex,
  ends: (text, at) => new Set(at < text.length && matches(text.charAt(at)) ? [at + 1] : []),
});

const condition = (regex: string, holds: (text: string, at: number) => boolean): Expression => ({
  regex,
  ends: (text, at) => new Set(holds(text, at) ? [at] : []),
});

const isBoundary = (text: string, at: number): boolean => isWord(text[at - 1]) !== isWord(text[at]);

const atoms = [
  ...['a', 'b', 'c', ' ', '1'].map((each) => character(each, (other) => other === each)),
  character('[ab]', (each) => each === 'a' || each === 'b'),
  character('[^a]', (each) => each !== 'a'),
  character('.', (each) => each !== '\n'),
  character(String.raw`\d`, (each) => /\d/.test(each)),
  character(String.raw`\w`, isWord),
  condition(String.raw`\b`, isBoundary),
  condition(String.raw`\B`, (text, at) => !isBoundary(text, at)),
  condition('^', (_, at) => at === 0),
  condition('$', (text, at) => at === text.length),
  condition('(?m:^)', (text, at) => at === 0 || text[at - 1] === '\n'),
  condition('(?m:$)', (text, at) => at === text.length || text[at] === '\n'),
];

function many(
  { regex, ends }: Expression,
  { sign, least, most }: { sign: string; least: number; most: number },
): Expression {
  return {
    regex: `(?:${regex})${sign}`,
    ends: (text, at) => {
      const found = new Set<number>(least === 0 ? [at] : []);
      let reached: ReadonlySet<number> = new Set([at]);
      // An empty repetition stands for any number of them.
      for (let times = 1; times <= Math.min(most, least + text.length); times++) {
        reached = new Set([...reached].flatMap((each) => [...ends(text, each)]));
        if (times >= least) for (const each of reached) found.add(each);
      }
      return found;
    },
  };
}

const chain = (a: Expression, b: Expression): Expression => ({
  regex: `${a.regex}${b.regex}`,
  ends: (text, at) => new Set([...a.ends(text, at)].flatMap((each) => [...b.ends(text, each)])),
});

const choice = (a: Expression, b: Expression): Expression => ({
  regex: `(?:${a.regex}|${b.regex})`,
  ends: (text, at) => new Set([...a.ends(text, at), ...b.ends(text, at)]),
});

const signs = fc.constantFrom(
  { sign: '?', least: 0, most: 1 },
  { sign: '{1,3}', least: 1, most: 3 },
  { sign: '{2}', least: 2, most: 2 },
  { sign: '*', least: 0, most: Infinity },
  { sign: '+?', least: 1, most: Infinity },
);

const expressions = fc.letrec<{
  any: Expression;
  atom: Expression;
  many: Expression;
  chain: Expression;
  choice: Expression;
}>((tie) => ({
  any: fc.oneof({ maxDepth: 3 }, tie('atom'), tie('many'), tie('chain'), tie('choice')),
  atom: fc.constantFrom(...atoms),
  many: fc.tuple(tie('any'), signs).map(([each, sign]) => many(each, sign)),
  chain: fc.tuple(tie('any'), tie('any')).map(([a, b]) => chain(a, b)),
  choice: fc.tuple(tie('any'), tie('any')).map(([a, b]) => choice(a, b)),
})).any;

const letters = fc.constantFrom('a', 'b', 'c', ' ', '1', '.', '\n', 'A');
const texts = fc.string({ unit: letters, maxLength: 24 });
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
const edges = fc.record({ start: fc.boolean(), end: fc.boolean() });

const rules: fc.Arbitrary<Known> = fc.oneof(
  fc.tuple(expressions, fc.boolean(), edges).map(([{ regex, ends }, caseSensitive, edge]) => ({
    rule: regexRule(regex, { caseSensitive, edges: edge, wholeText: true }),
    ends,
  })),
  fc.string({ unit: letters, minLength: 1, maxLength: 5 }).map((word): Known => ({
    rule: wordRule(word),
    ends: (text, at) => new Set(text.startsWith(word.toLowerCase(), at) ? [at + word.length] : []),
  })),
);

/** Matches as rules with their spans. */
function spansOf(matches: readonly TextMatch[]): [number, number, number][] {
  return matches
    .map(({ type, from, until }): [number, number, number] => [Number(type), from, until])
    .toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
}

describe('a scan for rules', () => {
  test('finds in pieces what backtracking finds in the whole text, and clears nothing before', () => {
    fc.assert(
      fc.property(fc.array(rules, { minLength: 1, maxLength: 4 }), texts, sizes, (list, text, cuts) => {
        const wanted = expected(list, text);
        const steps = stepsOf([checkOfRules(list.map(({ rule }) => rule))], piecesOf(text, cuts));
        expect(spansOf(lastReports(steps))).toEqual(wanted);
        let cleared = 0;
        for (const [i, step] of steps.entries()) {
          expect(step.cleared).toBeGreaterThanOrEqual(cleared);
          expect(step.cleared).toBeLessThanOrEqual(step.length);
          ({ cleared } = step);
          const reported = spansOf(lastReports(steps.slice(0, i + 1)));
          for (const [rule, start, end] of wanted) {
            if (start >= cleared) continue;
            const known = reported.find((each) => each[0] === rule && each[1] === start);
            expect(known?.[2]).toBeGreaterThanOrEqual(Math.min(end, cleared));
          }
        }
        expect(cleared).toBe(text.length);
      }),
      { numRuns: runs },
    );
  });

  test('finds the same whatever invisible characters, marks of their own, digits and spaces a text has', () => {
    const list = [
      wordRule('Đỏ'),
      wordRule('secret'),
      regexRule(String.raw`\d{3} \d{3}`),
      regexRule('[ế-ễ]x'),
      wordRule('密码'),
    ];
    const checks = [checkOfRules(list)];
    const part = fc.constantFrom(
      'đỏ',
      'secret',
      'secreté',
      '123 456',
      'ếx',
      'cé',
      '我的密码是',
      ' ',
      '.',
      'ex',
    );
    const disguise = fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => text.normalize('NFD'),
      (text) => Array.from(text).join('\u200b'),
      (text) => text.replace(/\d/g, (each) => String.fromCodePoint(0xff10 + Number(each))),
      (text) => text.replace(/\d/g, (each) => String.fromCodePoint(0x660 + Number(each))),
      (text) => text.replaceAll(' ', '\u3000'),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(part, disguise), { maxLength: 12 }), sizes, (parts, cuts) => {
        const text = parts.map(([each, change]) => change(each)).join('');
        const seen = plain(text);
        const wanted = matchesOf(checks, seen).map(({ type, from, until }) => [
          type,
          seen.slice(from, until),
        ]);
        const found = lastReports(stepsOf(checks, piecesOf(text, cuts)));
        expect(found.map(({ type, from, until }) => [type, plain(text.slice(from, until))])).toEqual(wanted);
      }),
      { numRuns: runs },
    );
  });

  test('clears a character as soon as no match can begin at it or before', () => {
    const checks = [
      checkOfRules([
        wordRule('secret'),
        regexRule(String.raw`key-\d{4}`, { edges: { start: true, end: false } }),
      ]),
    ];
    const cleared = (text: string): number => stepsOf(checks, [text])[0]?.cleared ?? -1;
    expect(cleared('the sec')).toBe(4);
    expect(cleared('the secx')).toBe(8);
    expect(cleared('the secretary')).toBe(13);
    expect(cleared('a key-12')).toBe(2);
    expect(cleared('a key-12k')).toBe(9);
    expect(cleared('a kez')).toBe(5);
    expect(cleared('turkey-1234')).toBe(11);
  });

  test('removes the rest of a long match without holding it', () => {
    const rest = Array.from({ length: 1000 }, () => 'a');
    const steps = stepsOf(
      [checkOfRules([regexRule('key-[a-z]{8}[a-z]*')])],
      ['a key-abcdefgh', 'i', ...rest, '.'],
    );
    expect(steps[0]).toMatchObject({ cleared: 2, matches: [] });
    expect(steps[1]).toMatchObject({ cleared: 14, matches: [{ from: 2, until: 14 }] });
    expect(steps[1002]).toMatchObject({ cleared: 1016, matches: [{ from: 2, until: 1015 }] });
  });
});
