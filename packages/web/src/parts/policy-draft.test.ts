import { describe, expect, it } from '@jest/globals';
import type { Policy } from '@gatehouse/contract/policies';
import { changesOf } from '../format/changes.ts';
import { newPolicy, newPolicyBody, policyBody, policyDraft } from './policy-draft.ts';
import { amountsOf, perOf, selectionOf } from './policy-texts.ts';

const at = '2026-01-10T09:00:00.000Z';
const policy: Policy = {
  ...{ id: '0198c2f8-1b3d-7c5e-9f70-8a9bacbdcedf', name: 'people', per: 'user' },
  select: { users: [], groups: ['Research'], agents: [], api_keys: [], models: ['gpt-5*'] },
  limits: { requests_per_minute: 60 },
  budget: { usd: '20.00', period: 'month' },
  ...{ overrides: {}, alerts: [50, 80], enforce: true, enabled: true },
  ...{ counts_since: at, created_at: at, updated_at: at },
};
const draft = policyDraft(policy);
const changed = (change: Partial<typeof draft>) =>
  changesOf(policyBody(draft, false), policyBody({ ...draft, ...change }, false));
const limits = { requests_per_minute: 60, tokens_per_minute: null, max_concurrent: null };

describe('the fields of a policy', () => {
  it.each([
    ['nothing', {}, {}],
    ['the budget away', { usd: '' }, { budget: null }],
    ['the amount, in its period', { usd: '5' }, { budget: { usd: '5', period: 'month' } }],
    ['a limit', { max_concurrent: '2' }, { limits: { ...limits, max_concurrent: 2 } }],
    ['a limit to nothing', { requests_per_minute: '0' }, { limits: { ...limits, requests_per_minute: 0 } }],
    ['alerts', { alerts: '90 100' }, { alerts: [90, 100] }],
    ['no alerts', { alerts: '' }, { alerts: [] }],
    ['models', { models: [' a ', ''] }, { select: { ...policy.select, models: ['a'] } }],
    ['refusals away', { enforce: 'false' as const }, { enforce: false }],
  ])('change %s', (_, change, body) => {
    expect(changed(change)).toEqual(body);
  });

  it('name an alert that is no percentage', () => {
    expect(() => changed({ alerts: '50, half' })).toThrow(expect.objectContaining({ param: 'alerts' }));
  });

  it('of the owner have tenants, and neither users nor groups', () => {
    const made = newPolicyBody({ ...newPolicy, name: 'all', per: 'model', users: ['ada'] }, true);
    expect(made).toMatchObject({ per: 'model', tenants: null });
    expect(Object.keys(made.select)).toEqual(['agents', 'api_keys', 'models']);
    expect(policyBody({ ...newPolicy, tenants: ['one', ''] }, true).tenants).toEqual(['one']);
    expect(newPolicyBody(newPolicy, false)).not.toHaveProperty('tenants');
  });

  it('are said in a list', () => {
    expect(perOf(policy)).toBe('user');
    expect(selectionOf(policy)).toEqual(['Groups: Research', 'Models: gpt-5*']);
    expect(amountsOf({ ...policy, enforce: false, limits: {} })).toEqual(['$20.00/month', 'refuses nothing']);
    const select = { agents: [], api_keys: [], models: [] };
    expect(selectionOf({ ...policy, select, tenants: ['one'] })).toEqual(['Tenants: one']);
    expect(selectionOf({ ...policy, select, tenants: null })).toEqual(['every run']);
  });
});
