import { matchesOf } from '../test/scans.ts';
import type { GuardrailDefinition, PatternsDefinition } from './definition.ts';
import { maxCheckBytes } from './compile-rules.ts';
import { cacheBounds, GuardrailCompiler } from './guardrail-compiler.ts';

function patterns(regexes: string[], words: string[] = []): PatternsDefinition {
  return {
    type: 'patterns',
    patterns: regexes.map((regex, index) => ({ name: `P${index}`, regex, case_sensitive: true })),
    words,
  };
}

function definition(
  check: GuardrailDefinition['check'],
  rest: Partial<GuardrailDefinition> = {},
): GuardrailDefinition {
  return { check, except: [], hold: null, ...rest };
}

const patient = { deadlineMs: 60_000, signal: new AbortController().signal };

describe('the compiler of guardrails', () => {
  const compiler = new GuardrailCompiler();

  afterAll(() => compiler.stop());

  test.each<[string, GuardrailDefinition, object | null]>([
    ['patterns', definition(patterns(['ab+'], ['acme'])), null],
    [
      'an unknown syntax',
      definition(patterns(['a', '(?=b)'])),
      { code: 'invalid_pattern', param: 'check.patterns[1].regex' },
    ],
    [
      'no bound',
      definition(patterns(['a.*b'])),
      { code: 'pattern_unbounded', param: 'check.patterns[0].regex' },
    ],
    ['no bound, held', definition(patterns(['a.*b']), { hold: 'answer' }), null],
    [
      'a long word',
      definition(patterns([], ['a', 'b'.repeat(300)])),
      { code: 'pattern_unbounded', param: 'check.words[1]' },
    ],
    ['a country', definition({ type: 'pii', regions: ['DE', 'VN'] }), null],
    [
      'no country',
      definition({ type: 'pii', regions: ['DE', 'XX'] }),
      { code: 'invalid_value', param: 'check.regions[1]' },
    ],
    ['secrets', definition({ type: 'secrets' }), null],
  ])('says what is wrong with a definition: %s', async (_, guardrail, wanted) => {
    const problem = await compiler.problemOf('tenant-a', guardrail);
    if (wanted === null) expect(problem).toBeNull();
    else expect(problem).toMatchObject(wanted);
  });

  test('names the pattern', async () => {
    const problem = await compiler.problemOf('tenant-a', definition(patterns(['a', 'b.*c'])));
    expect(problem?.message).toBe(
      "The pattern P1 can't be used: the expression reads more than 256 characters before it has matched.",
    );
  });

  test('makes guardrails ready for scans, and has them in memory by version', async () => {
    const guardrail = {
      id: 'grd_1',
      version: '1',
      ...definition(patterns(['T-[0-9]+'], ['acme']), { except: ['T-1'] }),
    };
    const [first, second] = await Promise.all([
      compiler.compiled('tenant-a', guardrail, patient),
      compiler.compiled('tenant-a', guardrail, patient),
    ]);
    expect(second).toBe(first);
    expect(await compiler.compiled('tenant-a', guardrail, patient)).toBe(first);
    expect(await compiler.compiled('tenant-b', guardrail, patient)).not.toBe(first);
    const changed = await compiler.compiled('tenant-a', { ...guardrail, version: '2', except: [] }, patient);
    expect(matchesOf([first, changed], 'T-1 acme')).toEqual([
      { check: 1, type: 'P0', from: 0, until: 3 },
      { check: 0, type: 'word', from: 4, until: 8 },
      { check: 1, type: 'word', from: 4, until: 8 },
    ]);
  });

  test('ends the wait of a run at its deadline and when it is left, and compiles for later ones', async () => {
    const guardrail = { id: 'grd_2', version: '1', ...definition(patterns(['late'])) };
    const left = AbortSignal.abort(new Error('left'));
    const waits = [
      compiler.compiled('tenant-a', guardrail, { ...patient, signal: left }),
      compiler.compiled('tenant-a', guardrail, { ...patient, deadlineMs: 0 }),
    ];
    const [leaving, late] = await Promise.allSettled(waits);
    expect(leaving).toMatchObject({ reason: { message: 'left' } });
    expect(late).toMatchObject({ reason: { name: 'TimeoutError' } });
    const check = await compiler.compiled('tenant-a', guardrail, patient);
    expect(await compiler.compiled('tenant-a', guardrail, { ...patient, deadlineMs: 0 })).toBe(check);
  });

  test('has room for 32 of the largest guardrails of a tenant', () => {
    expect(32 * (maxCheckBytes + 1_000)).toBeLessThan(cacheBounds.maxBytesPerTenant);
  });

  test('compiles what is not saved', async () => {
    const check = await compiler.compile('tenant-a', definition({ type: 'pii' }));
    expect(matchesOf([check], 'jane@acme.com')).toEqual([{ check: 0, type: 'email', from: 0, until: 13 }]);
    await expect(compiler.compile('tenant-a', definition(patterns(['('])))).rejects.toThrow(
      "P0 can't be used",
    );
  });
});
