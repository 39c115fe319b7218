import { compileRules } from './compile-rules.ts';
import { regexRule, type Rule, RuleError, wordRule } from './rule.ts';
import { type Match, type ScannedRules, scanSteps } from './scanner.ts';

function refusal(...rules: Rule[]): { code: string; rule: number } | null {
  try {
    compileRules(rules);
    return null;
  } catch (error) {
    if (!(error instanceof RuleError)) throw error;
    return { code: error.code, rule: error.rule };
  }
}

function scanText(checks: readonly ScannedRules[], text: string): Match[] {
  const steps = scanSteps(checks, text);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
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

  test('of candidates are bounded to their end', () => {
    expect(refusal(regexRule('a+', { proved: true }))).toEqual({ code: 'pattern_unbounded', rule: 0 });
    expect(refusal(regexRule('a{1,200}', { proved: true }))).toBeNull();
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
    const automata = compileRules(rules);
    expect(automata.length).toBeGreaterThan(1);
    expect(scanText([{ automata }], 'h and then zzzzzzzzz7')).toEqual([
      { check: 0, rule: 7, start: 0, end: 21 },
    ]);
  });

  test('are tables that another thread can send', () => {
    const automata = structuredClone(compileRules([wordRule('secret'), regexRule(String.raw`\bkey\b`)]));
    expect(scanText([{ automata }], 'a key, a secret')).toMatchObject([{ rule: 1 }, { rule: 0 }]);
  });

  test('match an empty text nowhere', () => {
    expect(scanText([{ automata: compileRules([regexRule('a*'), regexRule('^$')]) }], 'baab')).toEqual([
      { check: 0, rule: 0, start: 1, end: 3 },
    ]);
  });

  test('in any case match what folds to the same letter', () => {
    const automata = compileRules([wordRule('Kelvin'), wordRule('STRASSE'), wordRule('ΣΑΣ')]);
    expect(scanText([{ automata }], '\u212aelvin stra\u017fse σας')).toHaveLength(3);
  });
});
