import { describe, expect, it } from '@jest/globals';
import { newCheck } from './guardrail-checks.ts';
import { defaultBehaviour, guardrailActions, refusalOf, type GuardrailAction } from './guardrail-rules.ts';
import { createGuardrail, patchGuardrail } from './guardrails.ts';

const checkOf = (check: Record<string, unknown>) => newCheck.parse(check);
const checks: Record<string, Record<string, unknown>> = {
  pii: { type: 'pii' },
  secrets: { type: 'secrets' },
  patterns: { type: 'patterns', words: ['falcon'] },
  moderation: { type: 'moderation', model: 'omni-moderation' },
  model: { type: 'model', model: 'small', instructions: 'Insults.', labels: ['insult'] },
  presidio: { type: 'presidio', url: 'https://presidio.example.com' },
  webhook: { type: 'webhook', url: 'https://guard.example.com' },
};
const refusal = (check: Record<string, unknown>, action: GuardrailAction, more: object = {}) => {
  const both = { check: checkOf(check), action };
  return refusalOf({ ...both, ...defaultBehaviour(both), ...more });
};
const problems = (body: unknown, shape: typeof createGuardrail | typeof patchGuardrail = createGuardrail) =>
  (shape.safeParse(body).error?.issues ?? []).map(({ path }) => path.map(String).join('.'));

describe('a guardrail', () => {
  it('has defaults by its check and its action', () => {
    const all = ['system', 'user', 'tool_result', 'answer', 'tool_call'];
    const defaults = (type: string, action: GuardrailAction) =>
      defaultBehaviour({ check: checkOf(checks[type] ?? {}), action });
    expect(defaults('pii', 'mask')).toEqual({ on: all, on_error: 'closed', hold: null });
    expect(defaults('pii', 'substitute').on).toEqual(['system', 'user', 'tool_result']);
    expect(defaults('secrets', 'flag')).toEqual({ on: all, on_error: 'open', hold: null });
    expect(defaults('presidio', 'mask')).toEqual({
      ...{ on: ['system', 'user', 'tool_result'], on_error: 'closed', hold: 'answer' },
    });
    for (const type of ['moderation', 'model'])
      expect(defaults(type, 'block').on).toEqual(['user', 'tool_result']);
    expect(createGuardrail.parse({ name: 'a', check: checks['pii'], action: 'mask' })).toEqual({
      ...{ name: 'a', action: 'mask', except: [], message: null, unreadable: 'allow', select: {} },
      ...{ timeout_ms: 2_000, enabled: true },
      check: { type: 'pii', types: ['email', 'phone', 'credit_card', 'iban'], regions: [] },
    });
  });

  it('acts as its check can', () => {
    const possible = Object.entries(checks).map(([type, check]) => [
      type,
      guardrailActions.filter((action) => refusal(check, action) === null),
    ]);
    const every = ['block', 'mask', 'substitute', 'flag'];
    expect(Object.fromEntries(possible)).toEqual({
      ...{ pii: every, secrets: every, patterns: every, presidio: ['block', 'mask', 'flag'] },
      ...{ moderation: ['block', 'flag'], model: ['block', 'flag'], webhook: ['block', 'mask', 'flag'] },
    });
    for (const text of ['answer', 'tool_call']) {
      expect(refusal(checks['presidio'] ?? {}, 'mask', { on: ['user', text] })?.param).toBe('on');
      expect(refusal(checks['pii'] ?? {}, 'mask', { on: [text] })).toBeNull();
    }
    expect(refusal(checks['pii'] ?? {}, 'substitute', { on: ['user', 'answer'] })?.param).toBe('on');
    expect(refusal(checks['pii'] ?? {}, 'mask', { hold: 200 })?.param).toBe('hold');
    expect(refusal(checks['pii'] ?? {}, 'mask', { hold: 'answer' })).toBeNull();
    expect(refusal(checks['presidio'] ?? {}, 'mask', { hold: 200 })).toBeNull();
  });

  it('has a bounded number of patterns with names of their own', () => {
    const words = Array.from({ length: 200 }, (_, index) => `word${index}`);
    const pattern = (name: string, regex = 'a') => ({ name, regex });
    const of = (check: object) => refusal({ type: 'patterns', ...check }, 'mask')?.param;
    expect(of({ words })).toBeUndefined();
    expect(of({})).toBe('check.patterns');
    expect(of({ words, patterns: [pattern('one')] })).toBe('check.patterns');
    expect(of({ patterns: [pattern('Case'), pattern('case')] })).toBe('check.patterns');
    const large = Array.from({ length: 9 }, (_, index) => pattern(`p${index}`, 'x'.repeat(4_000)));
    expect(of({ patterns: large.slice(1) })).toBeUndefined();
    expect(of({ patterns: large })).toBe('check.patterns');
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['no check', { check: undefined }, 'check'],
    ['an unknown check', { check: { type: 'regex' } }, 'check.type'],
    ['an unknown type of data', { check: { type: 'pii', types: ['name'] } }, 'check.types.0'],
    ['a region in lower case', { check: { type: 'pii', regions: ['de'] } }, 'check.regions.0'],
    ['a blank word', { check: { type: 'patterns', words: [' '] } }, 'check.words.0'],
    ['a label that means no label', { check: { ...checks['model'], labels: ['None'] } }, 'check.labels.0'],
    [
      'a threshold over 1',
      { check: { ...checks['moderation'], categories: { hate: 2 } } },
      'check.categories.hate',
    ],
    [
      'a header of the gateway',
      { check: { ...checks['webhook'], auth: { type: 'headers', headers: { host: 'a' } } } },
      'check.auth.headers.host',
    ],
    [
      'a shown secret',
      { check: { ...checks['webhook'], auth: { type: 'bearer', token_set: true } } },
      'check.auth.token',
    ],
    ['201 exceptions', { except: Array.from({ length: 201 }, (_, index) => `x${index}`) }, 'except'],
    ['a long message', { message: 'x'.repeat(501) }, 'message'],
    ['a short time', { timeout_ms: 49 }, 'timeout_ms'],
    ['a long time', { timeout_ms: 10_001 }, 'timeout_ms'],
    ['no text', { on: [] }, 'on'],
    ['a few held characters', { hold: 199 }, 'hold'],
    ['many held characters', { hold: 8_001 }, 'hold'],
    ['an unknown member', { level: 1 }, ''],
  ])('with %s is refused', (_name, members, path) => {
    expect(problems({ name: 'a', check: checks['pii'], action: 'mask', ...members })).toContain(path);
  });

  it('is changed without its secrets', () => {
    const { url } = checks['webhook'] as { url: string };
    const check = { type: 'webhook', url };
    expect(patchGuardrail.parse({ check })).toEqual({ check });
    expect(problems({ check: { type: 'webhook', url, auth: { type: 'none' } } }, patchGuardrail)).toEqual([]);
  });
});
