import { compileRules } from './compile-rules.ts';
import { regexRule, type Rule, RuleError, wordRule } from './rule.ts';
import { checkOfRules, matchesOf } from '../test/scans.ts';

function refusal(...rules: Rule[]): { code: string; rule: number | null } | null {
  try {
    compileRules(rules);
    return null;
  } catch (error) {
    if (!(error instanceof RuleError)) throw error;
    return { code: error.code, rule: error.rule };
  }
}

describe('rules', () => {
  test.each([
    String.raw`\w+@example`,
    '.*secret',
    'a.*b',
    'ab(?:c*d)?',
    'a{257}',
    String.raw`[a-z]{200}-[a-z]{200}-`,
    '(?s)a.{0,300}b',
  ])('are refused if a match may be undecided for more than 256 characters: %s', (regex) => {
    expect(refusal(wordRule('x'), regexRule(regex))).toEqual({ code: 'pattern_unbounded', rule: 1 });
    expect(refusal(regexRule(regex, { wholeText: true }))).toBeNull();
  });

  test.each([
    String.raw`\w{1,64}@example`,
    'secret.*',
    'a{256}',
    '(?:[a-z]{200}-)+',
    '(?s)a.{0,250}b',
    String.raw`eyJ[\w-]{10,200}\.eyJ[\w-]{5}[\w.-]*`,
    '^a$',
  ])('are taken if each match is decided in time: %s', (regex) => {
    expect(refusal(regexRule(regex))).toBeNull();
  });

  test.each(['(', String.raw`(a)\1`, 'a(?=b)', '(?<=a)b', 'a{1001}', '(?:a{1000}){3}', '(?:a{100}){100}'])(
    'that RE2 lacks or that are too large are refused: %s',
    (regex) => {
      expect(refusal(regexRule(regex))).toEqual({ code: 'invalid_pattern', rule: 0 });
    },
  );

  test('with too many states are refused', () => {
    expect(refusal(regexRule('[ab]{0,40}a[ab]{20}c'))).toEqual({ code: 'invalid_pattern', rule: 0 });
  });

  test('that are too many for one automaton share several', () => {
    const rules = Array.from({ length: 8 }, (_, i) =>
      regexRule(`(?s)${String.fromCharCode(97 + i)}.{0,200}[x-z]{${2 + i}}${i}`),
    );
    const check = checkOfRules(rules);
    expect(check.automata.length).toBeGreaterThan(1);
    expect(matchesOf([check], 'h and then zzzzzzzzz7')).toEqual([
      { check: 0, type: '7', from: 0, until: 21 },
    ]);
  });

  test('that need too much memory together are refused', () => {
    const rules = Array.from({ length: 30 }, (_, i) => regexRule(`(?s)${i}a.{0,200}[x-z]{9}${i}`));
    expect(refusal(...rules)).toEqual({ code: 'invalid_pattern', rule: null });
  });

  test('are tables that another process can send', () => {
    const check = checkOfRules([wordRule('secret'), regexRule(String.raw`\bkey\b`)]);
    expect(matchesOf([structuredClone(check)], 'a key, a secret')).toMatchObject([
      { type: '1' },
      { type: '0' },
    ]);
  });

  test('match an empty text nowhere', () => {
    const check = checkOfRules([regexRule('a*'), regexRule('^$')]);
    expect(matchesOf([check], 'baab')).toEqual([{ check: 0, type: '0', from: 1, until: 3 }]);
  });

  test('in any case match what folds to the same letter', () => {
    const check = checkOfRules([wordRule('Kelvin'), wordRule('STRASSE'), wordRule('ΣΑΣ')]);
    expect(matchesOf([check], '\u212aelvin stra\u017fse σας')).toHaveLength(3);
  });

  test('are read in the form of texts', () => {
    const check = checkOfRules([wordRule('e\u0301te\u0301'), regexRule('\uff11\u3000#')]);
    expect(matchesOf([check], 'été 1 #')).toMatchObject([{ type: '0' }, { type: '1' }]);
  });
});
