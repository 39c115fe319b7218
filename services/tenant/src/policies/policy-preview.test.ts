import { describe, expect, it } from '@jest/globals';
import { RunProperty, type RunGroup } from '@gatehouse/proto/analytics/v1/analytics';
import { PreviewSums, propertiesFor } from './policy-preview.ts';

type Previewed = ConstructorParameters<typeof PreviewSums>[0];

const usd = (amount: number): bigint => BigInt(amount) * 10n ** 12n;

const policyOf = (fields: Partial<Previewed> = {}): Previewed => ({
  ...{ id: 'p', per: 'user', limits: {}, budget: { usd: '10', period: 'day' }, overrides: {} },
  select: { users: [], groups: [], agents: [], api_keys: [], models: [] },
  ...fields,
});

const runsOf = (userId: string, cost: number, fields: Partial<RunGroup> = {}): RunGroup => ({
  ...{ userId, groups: [], windowStart: 0n, runs: 2n, costPico: usd(cost) },
  ...fields,
});

function preview(policy: Previewed, groups: readonly RunGroup[], agentKeys = new Map<string, string>()) {
  const sums = new PreviewSums(policy, agentKeys);
  for (const group of groups) sums.add(group);
  return sums.preview(false);
}

const valuesOver = (...input: Parameters<typeof preview>) =>
  preview(...input)?.values_over.map(({ value, spent_usd: spent }) => [value, Number(spent)]);

describe('the preview of a policy', () => {
  it('has the runs that it matches, and the values over their budget in a window', () => {
    const groups = [
      runsOf('ada', 6, { windowStart: 1n }),
      runsOf('ada', 6, { windowStart: 2n }),
      runsOf('bob', 11, { windowStart: 1n }),
      runsOf('bob', 12, { windowStart: 2n }),
      runsOf('eve', 10),
    ];
    expect(preview(policyOf(), groups)).toEqual({
      runs: 10,
      values_over: [{ value: 'bob', spent_usd: '12.000000000000', budget_usd: '10.000000000000' }],
      truncated: false,
    });
  });

  it('matches as the policy does, by the keys of agents too', () => {
    const select = { ...policyOf().select, models: ['gpt-*'], agents: ['help*'] };
    const groups = [
      runsOf('ada', 20, { model: 'gpt-5', agentId: 'a' }),
      runsOf('bob', 20, { model: 'claude', agentId: 'a' }),
      runsOf('eve', 20, { model: 'gpt-5', agentId: 'b' }),
    ];
    const keys = new Map([
      ['a', 'helpdesk'],
      ['b', 'other'],
    ]);
    expect(preview(policyOf({ select }), groups, keys)?.runs).toBe(2);
    expect(valuesOver(policyOf({ select }), groups, keys)).toEqual([['ada', 20]]);
  });

  it('follows overrides in force, of which those of groups count by the largest', () => {
    const overrides = {
      ada: { budget_usd: '100', until: null, note: null },
      bob: { budget_usd: '100', until: '2020-01-01T00:00:00.000Z', note: null },
      'group:A': { budget_usd: '15', until: null, note: null },
      'group:b': { budget_usd: null, until: null, note: null },
    };
    const groups = [
      ...['ada', 'bob'].map((user) => runsOf(user, 20)),
      runsOf('cid', 20, { groups: ['A'] }),
      runsOf('dan', 20, { groups: ['A', 'B'] }),
    ];
    expect(valuesOver(policyOf({ overrides }), groups)).toEqual([
      ['bob', 20],
      ['cid', 20],
    ]);
  });

  it('names groups as runs do, and counts each in any case', () => {
    const policy = policyOf({
      ...{ per: 'group', select: { ...policyOf().select, groups: ['eng'] } },
      overrides: { ENG: { budget_usd: '20', until: null, note: null } },
    });
    const groups = ['Eng', 'ENG'].map((name) => runsOf('ada', 15, { groups: [name] }));
    expect(valuesOver(policy, groups)).toEqual([['Eng', 30]]);
  });

  it('has one value for a policy with one counter, and none without a budget', () => {
    const groups = [runsOf('ada', 6), runsOf('bob', 6)];
    expect(valuesOver(policyOf({ per: null }), groups)).toEqual([[null, 12]]);
    expect(preview(policyOf({ budget: null }), groups)).toEqual({
      runs: 4,
      values_over: [],
      truncated: false,
    });
  });

  it('counts a run in more groups than one call may count in', () => {
    const names = Array.from({ length: 65 }, (_, index) => `team-${index}`);
    const select = { ...policyOf().select, groups: ['team-*'] };
    const result = preview(policyOf({ per: 'group', select }), [runsOf('ada', 20, { groups: names })]);
    expect(result?.runs).toBe(2);
    expect(result?.values_over).toHaveLength(65);
  });

  it('has a hundred values at most, and says that there are more', () => {
    const groups = Array.from({ length: 101 }, (_, index) => runsOf(`user-${index}`, 20 + index));
    const result = preview(policyOf(), groups);
    expect(result?.values_over).toHaveLength(100);
    expect(result?.values_over[0]?.value).toBe('user-100');
    expect(result?.truncated).toBe(true);
  });

  it('needs the properties by which the policy selects and counts', () => {
    expect(propertiesFor(policyOf({ per: null }))).toEqual([]);
    expect(propertiesFor(policyOf())).toEqual([RunProperty.USER]);
    expect(propertiesFor(policyOf({ per: 'session' }))).toEqual([
      ...[RunProperty.USER, RunProperty.API_KEY, RunProperty.SESSION],
    ]);
    const override = { until: null, note: null };
    expect(propertiesFor(policyOf({ overrides: { 'group:a': override } }))).toEqual([
      ...[RunProperty.USER, RunProperty.GROUPS],
    ]);
    const select = { ...policyOf().select, models: ['*'], agents: ['a'] };
    expect(propertiesFor(policyOf({ per: null, select }))).toEqual([RunProperty.AGENT, RunProperty.MODEL]);
  });
});
