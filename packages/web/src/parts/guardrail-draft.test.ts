import { describe, expect, it } from '@jest/globals';
import type { Guardrail } from '@gatehouse/contract/guardrails';
import { createGuardrail, createOwnerGuardrail, patchGuardrail } from '@gatehouse/contract/guardrails';
import {
  checkTypes,
  guardrailChanges,
  guardrailDraft,
  newGuardrail,
  newGuardrailBody,
  type GuardrailDraft,
} from './guardrail-draft.ts';

const guardrail: Guardrail = {
  ...{ id: '0198c2f8-2c4e-7d6f-8a81-9bacbdcedfe0', name: 'names', action: 'mask', enabled: true },
  select: { users: [], groups: ['Research'], agents: [], api_keys: [], models: [] },
  ...{ on: ['user'], except: [], message: null, unreadable: 'allow', on_error: 'closed', timeout_ms: 2_000 },
  check: {
    ...{ type: 'presidio', url: 'https://presidio.example.com', auth: { type: 'bearer', token_set: true } },
    ...{ entities: ['PERSON'], language: 'en', min_score: 0.5 },
  },
  ...{ hold: 'answer', created_at: '2026-01-10T09:00:00.000Z', updated_at: '2026-01-10T09:00:00.000Z' },
};
const draft = guardrailDraft(guardrail);
const changes = (change: Partial<GuardrailDraft>, from = draft) =>
  guardrailChanges(from, { ...from, ...change }, false);

describe('the fields of a guardrail', () => {
  it.each<[string, Partial<GuardrailDraft>, object]>([
    ['nothing', {}, {}],
    ['its action', { action: 'flag' }, { action: 'flag' }],
    ['its texts', { on: ['tool_result'] }, { on: ['tool_result'] }],
    ['a member of its check', { language: 'de' }, { check: { type: 'presidio', language: 'de' } }],
    ['its token', { token: 'new' }, { check: { type: 'presidio', auth: { type: 'bearer', token: 'new' } } }],
    ['its credentials away', { login: 'none' }, { check: { type: 'presidio', auth: { type: 'none' } } }],
    ['its type', { type: 'secrets' }, { check: { type: 'secrets', types: newGuardrail.secrets } }],
    ['its hold', { hold: '400' }, { hold: 400 }],
    ['groups', { groups: [' a ', ''] }, { select: { ...guardrail.select, groups: ['a'] } }],
  ])('change %s', (_name, change, body) => {
    expect(changes(change)).toEqual(body);
    expect(patchGuardrail.safeParse(changes(change)).error).toBeUndefined();
  });

  it('are read as the API takes them, for each check', () => {
    const filled: GuardrailDraft = {
      ...newGuardrail,
      ...{
        name: 'a',
        patterns: ['One: a:b+', ' '],
        words: ['falcon'],
        model: 'm',
        categories: ['hate: 0.5'],
      },
      ...{ instructions: 'Insults.', labels: ['insult'], url: 'https://a.example.com', login: 'headers' },
      ...{ headers: ['x-api-key: 1'], params: '{"level": 2}', except: ['*@example.org'] },
    };
    // The keys of the record.
    for (const type of Object.keys(checkTypes) as GuardrailDraft['type'][]) {
      const body = newGuardrailBody({ ...filled, type }, false);
      expect([type, createGuardrail.safeParse(body).error]).toEqual([type, undefined]);
      const owners = newGuardrailBody({ ...filled, type, tenants: [guardrail.id] }, true);
      expect([type, createOwnerGuardrail.safeParse(owners).error]).toEqual([type, undefined]);
    }
    expect(newGuardrailBody({ ...filled, type: 'patterns' }, false).check).toMatchObject({
      ...{ patterns: [{ name: 'One', regex: 'a:b+', case_sensitive: true }], words: ['falcon'] },
    });
    expect(newGuardrailBody({ ...filled, type: 'moderation' }, false).check).toMatchObject({
      categories: { hate: 0.5 },
    });
  });

  it('show patterns in any case as RE2 writes them', () => {
    const pattern = { name: 'one', regex: 'a', case_sensitive: false };
    const shown = guardrailDraft({
      ...guardrail,
      check: { type: 'patterns', patterns: [pattern], words: [] },
    });
    expect(shown.patterns).toEqual(['one: (?i)a']);
    expect(changes({ action: 'flag' }, shown)).toEqual({ action: 'flag' });
  });

  it.each<[string, Partial<GuardrailDraft>, string]>([
    ['a pattern without a name', { type: 'patterns', patterns: ['a+'] }, 'check.patterns'],
    ['a score beyond 1', { type: 'moderation', categories: ['hate: 2'] }, 'check.categories'],
    ['parameters that are no JSON', { type: 'webhook', params: '{' }, 'check.params'],
    ['a header without a value', { login: 'headers', headers: ['x-api-key:'] }, 'check.auth.headers'],
    ['a hold of words', { hold: 'all' }, 'hold'],
  ])('name %s', (_name, change, param) => {
    expect(() => changes(change)).toThrow(expect.objectContaining({ param }));
  });
});
