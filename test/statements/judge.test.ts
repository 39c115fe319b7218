import { describe, expect, it } from '@jest/globals';
import { problemsOf, type Catalogue, type PlanNode } from './judge.ts';

const catalogue: Catalogue = {
  bigTables: new Set(['a.big', 'a.large']),
  indexes: new Map([
    ['a.big_pkey', { unique: ['id'], isPartial: false }],
    ['a.big_key', { unique: ['tenant_id', 'key'], isPartial: false }],
    ['a.big_tenant_idx', { unique: null, isPartial: false }],
    ['a.big_due_idx', { unique: null, isPartial: true }],
  ]),
};

type Rest = Partial<Omit<PlanNode, 'Plans'>>;

function node(type: string, rest: Rest = {}, ...plans: PlanNode[]): PlanNode {
  return { 'Node Type': type, 'Plan Rows': 10, ...rest, ...(plans.length > 0 && { Plans: plans }) };
}

function scan(type: string, table: string, rest: Rest = {}): PlanNode {
  return node(type, { Schema: 'a', 'Relation Name': table, Alias: table.slice(0, 1), ...rest });
}

const array = (rest: Rest = {}) =>
  node('Function Scan', { 'Function Name': 'unnest', Alias: 'given', ...rest });

function loop(rest: Rest, outer: PlanNode, inner: PlanNode): PlanNode {
  return node(
    'Nested Loop',
    rest,
    { ...outer, 'Parent Relationship': 'Outer' },
    { ...inner, 'Parent Relationship': 'Inner' },
  );
}

const problems = (plan: PlanNode) => problemsOf(plan, catalogue);

describe('a plan that reads a whole table', () => {
  const whole = ['reads all of a.big'];

  it('is a problem by whichever way, also below a sort or a hash', () => {
    expect(problems(scan('Seq Scan', 'big'))).toEqual(whole);
    expect(problems(scan('Index Scan', 'big', { 'Index Name': 'big_pkey' }))).toEqual(whole);
    expect(problems(node('Limit', {}, node('Sort', {}, scan('Seq Scan', 'big'))))).toEqual(whole);
    expect(problems(node('Hash Join', {}, array(), node('Hash', {}, scan('Seq Scan', 'big'))))).toEqual(
      whole,
    );
  });

  it('is none if the table is small, or the index has few rows, or a key is given', () => {
    expect(problems(scan('Seq Scan', 'small'))).toEqual([]);
    expect(problems(scan('Index Only Scan', 'big', { 'Index Name': 'big_due_idx' }))).toEqual([]);
    expect(problems(scan('Index Scan', 'big', { 'Index Cond': '(b.tenant_id = $1)' }))).toEqual([]);
  });

  it('is none if a limit ends it, but one if a filter may pass over all rows', () => {
    const ordered = (rest: Rest = {}) =>
      node(
        'Limit',
        {},
        node('LockRows', {}, scan('Index Scan', 'big', { 'Index Name': 'big_pkey', ...rest })),
      );
    expect(problems(ordered())).toEqual([]);
    expect(problems(ordered({ Filter: `(b.state = 'due')` }))).toEqual([
      'until its limit reads all of a.big',
    ]);
  });

  it('is one if the limit is that of another part of the statement', () => {
    const inner = node('Limit', {}, loop({}, array(), scan('Seq Scan', 'big')));
    expect(problems(inner)).toEqual(whole);
  });
});

describe('a loop over many rows of both sides', () => {
  const tenant = (rest: Rest = {}) =>
    scan('Index Scan', 'big', {
      'Index Name': 'big_tenant_idx',
      'Index Cond': '(b.tenant_id = $1)',
      ...rest,
    });
  const joined = { 'Join Filter': '(b.key = given.key)' };

  it('is a problem if a filter compares them', () => {
    expect(problems(loop(joined, array(), tenant()))).toEqual(['compares all with all: (b.key = given.key)']);
    expect(problems(loop(joined, tenant(), array()))).toEqual(['compares all with all: (b.key = given.key)']);
    const lateral = node('Limit', {}, tenant({ Filter: '(b.key = given.key)' }));
    expect(problems(loop({}, array(), lateral))).toEqual(['compares all with all: (b.key = given.key)']);
  });

  it('is a problem too if their tenant alone finds rows by an index', () => {
    const ofTenant = tenant({ 'Index Cond': '(b.tenant_id = given.tenant_id)' });
    expect(problems(loop(joined, array(), ofTenant))).toHaveLength(1);
  });

  it('is none if an index finds each row by its key, whatever else is compared', () => {
    const byKey = tenant({
      'Index Cond': '((b.tenant_id = $1) AND (b.key = given.key))',
      Filter: 'b.is_open',
    });
    expect(problems(loop({ 'Join Filter': '(b.size > given.size)' }, array(), byKey))).toEqual([]);
  });

  it('is none if one side is a single row: of a unique key, an aggregate, or a limit', () => {
    const unique = (condition: string) => tenant({ 'Index Name': 'big_key', 'Index Cond': condition });
    expect(problems(loop(joined, unique('((b.tenant_id = $1) AND (b.key = $2))'), array()))).toEqual([]);
    expect(
      problems(loop(joined, unique('((b.tenant_id = $1) AND (b.key = ANY ($2)))'), array())),
    ).toHaveLength(1);
    expect(problems(loop(joined, node('Aggregate', {}, tenant()), array()))).toEqual([]);
    expect(problems(loop(joined, node('Limit', { 'Plan Rows': 1 }, tenant()), array()))).toEqual([]);
  });

  it('is one also through a common table expression', () => {
    const expression = (of: PlanNode) => ({
      ...of,
      'Parent Relationship': 'InitPlan',
      'Subplan Name': 'CTE kept',
    });
    const read = node('CTE Scan', { 'CTE Name': 'kept', Alias: 'kept' });
    const compared = { 'Join Filter': '(b.key = kept.key)' };
    const withExpression = (of: PlanNode) =>
      node('Result', {}, expression(of), loop(compared, tenant(), read));
    expect(problems(withExpression(array()))).toHaveLength(1);
    expect(problems(withExpression(node('Aggregate', {}, array())))).toEqual([]);
  });

  it('is one also as a subquery that runs for each row, unless that is hashed', () => {
    const subplan = (rest: Rest) => ({
      ...array(rest),
      'Parent Relationship': 'SubPlan',
      'Subplan Name': 'SubPlan 1',
    });
    const filtered = (filter: string, rest: Rest = {}) =>
      node(
        'Bitmap Heap Scan',
        { Schema: 'a', 'Relation Name': 'big', Alias: 'b', Filter: filter },
        subplan(rest),
      );
    expect(problems(filtered('(ANY (b.key = (SubPlan 1).col1))'))).toHaveLength(1);
    expect(problems(filtered('(ANY (b.key = (hashed SubPlan 1).col1))'))).toEqual([]);
    expect(problems(filtered('EXISTS(SubPlan 1)', { Filter: '(given.key = b.key)' }))).toHaveLength(1);
  });
});
