import { createHmac } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { CounterIds, PolicyIndex, policyPers, type MatchedPolicy, type RunFacts } from './policy-matching.ts';
import {
  groupEntry,
  groupNameEntry,
  selectionFields,
  type RunGroup,
  type SelectionField,
} from './selection-index.ts';

const policyOf = (policy: Partial<MatchedPolicy> = {}): MatchedPolicy => ({
  ...{ id: 'p', select: {}, per: null, countsOwnKeys: true, counterKey: Buffer.alloc(32) },
  ...policy,
});

const run = (facts: Partial<RunFacts> = {}): RunFacts => ({
  ...{ userId: null, groups: [], agent: null, apiKeyId: null, sessionId: null, ownKey: false },
  ...facts,
});

const group = (name: string, id = `${name}'s id`): RunGroup => ({ id, name });
const groups = (...names: string[]): { groups: string[] } => ({ groups: names.map(groupNameEntry) });

const valuesOf = (policy: Partial<MatchedPolicy>, facts: Partial<RunFacts>, model = 'gpt-5'): string[] =>
  new PolicyIndex([policyOf(policy)])
    .matching(run(facts))
    .countersOf(model)
    .map(({ value }) => value);

describe('the policies of a run', () => {
  it('include one without a selection for every run', () => {
    expect(valuesOf({}, {})).toEqual(['']);
  });

  it.each<[string, Partial<MatchedPolicy>, Partial<RunFacts>, string[]]>([
    ['a user', { select: { users: ['ada'] } }, { userId: 'ada' }, ['']],
    ['another user', { select: { users: ['ada'] } }, { userId: 'grace' }, []],
    ['no user where users are selected', { select: { users: ['*'] } }, {}, []],
    ['one of several groups', { select: groups('a', 'b') }, { groups: [group('x'), group('B')] }, ['']],
    ['a group by its id', { select: { groups: [groupEntry('1')] } }, { groups: [group('x', '1')] }, ['']],
    [
      'no group with the id as its name',
      { select: { groups: [groupEntry('1')] } },
      { groups: [group('1')] },
      [],
    ],
    ['no group with the name as its id', { select: groups('1') }, { groups: [group('x', '1')] }, []],
    ['an agent by its key', { select: { agents: ['help*'] } }, { agent: { id: '1', key: 'helpdesk' } }, ['']],
    ['an agent by its id', { select: { agents: ['1'] } }, { agent: { id: '1', key: 'helpdesk' } }, ['']],
    ['each named field', { select: { users: ['ada'], models: ['claude-*'] } }, { userId: 'ada' }, []],
    ['a pattern of models', { select: { models: ['gpt-*'] } }, {}, ['']],
    ['a value of its own', { per: 'user' }, { userId: 'ada' }, ['ada']],
    ['no value', { per: 'user' }, {}, []],
    ['the model called', { per: 'model' }, {}, ['gpt-5']],
    [
      'selected groups alone',
      { per: 'group', select: groups('eng*') },
      { groups: [group('eng-1', '1'), group('x', '2')] },
      ['1'],
    ],
    [
      'selected groups in any spelling',
      { per: 'group', select: groups('CAFE\u0301') },
      { groups: [group('caf\u00e9', '1')] },
      ['1'],
    ],
    [
      'a session of a user',
      { per: 'session' },
      { sessionId: 's', userId: 'a/b', apiKeyId: 'k' },
      ['user:a%2Fb/s'],
    ],
    ['a session of a key', { per: 'session' }, { sessionId: 's', apiKeyId: 'k' }, ['key:k/s']],
    ['keys of the tenant', { countsOwnKeys: false }, { ownKey: true }, []],
  ])('match %s', (_name, policy, facts, values) => {
    expect(valuesOf(policy, facts)).toEqual(values);
  });
});

describe('the id of a counter', () => {
  const idOf = (policy: Partial<MatchedPolicy>, userId: string): string | undefined =>
    new PolicyIndex([policyOf({ per: 'user', ...policy })]).matching(run({ userId })).countersOf('gpt-5')[0]
      ?.id;

  it('is a UUID of the value under the key of its policy and tenant', () => {
    const counterKey = Buffer.alloc(32, 1);
    expect(idOf({}, 'ada')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(idOf({ id: 'q' }, 'ada')).toBe(idOf({}, 'ada'));
    expect(idOf({}, 'bob')).not.toBe(idOf({}, 'ada'));
    expect(idOf({ counterKey }, 'ada')).not.toBe(idOf({}, 'ada'));
  });
});

describe('matching by an index', () => {
  it('finds the same as a comparison with every policy', () => {
    fc.assert(
      fc.property(fc.array(policies, { maxLength: 40 }), facts, names, (list, run, model) => {
        const found = new PolicyIndex(list).matching(run).countersOf(model);
        expect(found.map(shown).toSorted()).toEqual(naive(list, run, model).toSorted());
      }),
    );
  });

  it('takes linear time for a pattern', () => {
    const pattern = `${'*a'.repeat(120)}*b`;
    const facts = run({ userId: 'a'.repeat(255) });
    const index = new PolicyIndex(
      Array.from({ length: 40 }, () => policyOf({ select: { users: Array(20).fill(pattern) } })),
    );
    // An exponential search would not end.
    expect(index.matching(facts).isEmpty).toBe(true);
  });
});

it('a counter of a user has its groups by their ids', () => {
  const [counter] = new PolicyIndex([policyOf({ per: 'user' })])
    .matching(run({ userId: 'ada', groups: [group('Engineering', '1'), group('Sales', '2')] }))
    .countersOf('gpt-5');
  expect(counter?.user).toEqual({ id: 'ada', groups: ['1', '2'] });
});

it('a renamed group is counted as before, under its new name', () => {
  const index = new PolicyIndex([policyOf({ per: 'group', select: { groups: [groupEntry('1')] } })]);
  const counterOf = (name: string) =>
    index.matching(run({ groups: [group(name, '1')] })).countersOf('gpt-5')[0];
  expect(counterOf('Revenue')?.id).toBe(counterOf('Sales')?.id);
  expect([counterOf('Sales')?.label, counterOf('Revenue')?.label]).toEqual(['Sales', 'Revenue']);
});

it('a user with many groups is compared with many patterns once', () => {
  const patterns = (policy: number): string[] =>
    Array.from({ length: 50 }, (_, index) => `team-${policy}-${index}-*`);
  const index = new PolicyIndex(
    Array.from({ length: 32 }, (_, number) =>
      policyOf({ id: `p${number}`, per: 'group', select: groups(...patterns(number), 'staff') }),
    ),
  );
  const others = Array.from({ length: 19 }, (_, number) => group(`group-of-others-${number}`));
  const facts = run({ groups: [...others, group('Staff')] });
  const compared = jest.spyOn(String.prototype, 'startsWith');
  try {
    expect(index.matching(facts).countersOf('gpt-5')).toHaveLength(32);
    const first = compared.mock.calls.length;
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThanOrEqual(32 * 50 * 20);
    expect(index.matching(facts).countersOf('gpt-5')).toHaveLength(32);
    expect(compared.mock.calls.length).toBe(first);
  } finally {
    compared.mockRestore();
  }
});

it('the same pattern of many policies is compared once', () => {
  const index = new PolicyIndex(
    Array.from({ length: 32 }, (_, number) => policyOf({ id: `p${number}`, select: { users: ['team-*'] } })),
  );
  const compared = jest.spyOn(String.prototype, 'startsWith');
  try {
    expect(index.matching(run({ userId: 'team-one' })).countersOf('gpt-5')).toHaveLength(32);
    expect(compared.mock.calls.length).toBe(1);
  } finally {
    compared.mockRestore();
  }
});

it('the id of a counter is hashed once, also for an index that replaces another', () => {
  const counterIds = new CounterIds();
  // Its prototype has the methods of all.
  const prototype = Object.getPrototypeOf(createHmac('sha256', 'key')) as Pick<
    ReturnType<typeof createHmac>,
    'update'
  >;
  const hashed = jest.spyOn(prototype, 'update');
  try {
    const idsOf = (userId: string): string[] =>
      new PolicyIndex([policyOf(), policyOf({ per: 'user' })], counterIds)
        .matching(run({ userId }))
        .countersOf('gpt-5')
        .map(({ id }) => id);
    const ids = idsOf('ada');
    expect(idsOf('ada')).toEqual(ids);
    expect(hashed.mock.calls).toEqual([[''], ['ada']]);
    expect(idsOf('bob')[1]).not.toBe(ids[1]);
  } finally {
    hashed.mockRestore();
  }
});

it('100 new groups are compared with the most patterns before others wait', () => {
  const patterns = (policy: number): string[] =>
    Array.from({ length: 8 }, (_, index) => groupNameEntry(`*a*b*a${policy}x${index}*`));
  const index = new PolicyIndex(
    Array.from({ length: 40 }, (_, number) =>
      policyOf({ id: `p${number}`, select: { groups: patterns(number) } }),
    ),
  );
  const named = Array.from({ length: 100 }, (_, number) => group(`${'ab'.repeat(125)}${number}`));
  const before = process.cpuUsage().user;
  expect(index.matching(run({ groups: named })).isEmpty).toBe(true);
  // It takes 28 ms.
  expect(process.cpuUsage().user - before).toBeLessThan(280_000);
});

const name = fc.stringMatching(/^[ab]{0,3}$/);
const names = name.filter((text) => text !== '');
const entries = fc.option(fc.array(fc.stringMatching(/^[ab*]{1,4}$/), { minLength: 1, maxLength: 3 }), {
  nil: undefined,
});

/** Some names are taken for ids. */
const groupEntryOf = (entry: string): string =>
  /^a[^*]*$/.test(entry) ? groupEntry(entry) : groupNameEntry(entry);

const policies: fc.Arbitrary<MatchedPolicy> = fc
  .record({
    id: names,
    select: fc.record({
      users: entries,
      groups: entries.map((list) => list?.map(groupEntryOf)),
      agents: entries,
      apiKeys: entries,
      models: entries,
    }),
    per: fc.constantFrom(null, ...policyPers),
    countsOwnKeys: fc.boolean(),
  })
  .map(({ select, ...policy }) =>
    policyOf({
      ...policy,
      select: Object.fromEntries(Object.entries(select).filter(([, named]) => named !== undefined)),
    }),
  );

const facts: fc.Arbitrary<RunFacts> = fc.record({
  userId: fc.option(names),
  groups: fc
    .uniqueArray(fc.tuple(names, names), { maxLength: 3, selector: ([id]) => id })
    .map((list) => list.map(([id, text]) => group(text, id))),
  agent: fc.option(fc.record({ id: names, key: names })),
  apiKeyId: fc.option(names),
  sessionId: fc.option(names),
  ownKey: fc.boolean(),
});

const shown = ({ policy, value }: { policy: MatchedPolicy; value: string }): string =>
  `${policy.id} ${value}`;

const entriesOf = ({ id, name: text }: RunGroup): string[] => [groupEntry(id), groupNameEntry(text)];

/** Each policy by regular expressions. */
function naive(list: readonly MatchedPolicy[], run: RunFacts, model: string): string[] {
  const values: Record<SelectionField, readonly (string | undefined)[]> = {
    users: [run.userId ?? undefined],
    groups: run.groups.flatMap(entriesOf),
    agents: [run.agent?.id, run.agent?.key],
    apiKeys: [run.apiKeyId ?? undefined],
    models: [model],
  };
  const matches = (entry: string, value: string): boolean =>
    new RegExp(`^${entry.replaceAll('*', '.*')}$`).test(value);
  const isNamed = (policy: MatchedPolicy, field: SelectionField, value: string | undefined): boolean =>
    value !== undefined && (policy.select[field] ?? ['*']).some((entry) => matches(entry, value));
  return list
    .filter((policy) => policy.countsOwnKeys || !run.ownKey)
    .filter((policy) =>
      selectionFields.every(
        (field) =>
          policy.select[field] === undefined || values[field].some((value) => isNamed(policy, field, value)),
      ),
    )
    .flatMap((policy) => {
      const session = run.userId === null ? `key:${run.apiKeyId ?? ''}` : `user:${run.userId}`;
      const per = {
        ...{ user: [run.userId], agent: [run.agent?.id], api_key: [run.apiKeyId], model: [model] },
        group: run.groups
          .filter((each) => entriesOf(each).some((entry) => isNamed(policy, 'groups', entry)))
          .map(({ id }) => id),
        session: [run.sessionId === null ? null : `${session}/${run.sessionId}`],
      };
      const counted: readonly (string | null | undefined)[] = policy.per === null ? [''] : per[policy.per];
      return counted.filter((value) => typeof value === 'string').map((value) => shown({ policy, value }));
    });
}
