import { matchesPattern, parsePattern } from './pattern.ts';
import { AppError } from '@gatehouse/kit/errors';
import { foldedGroup } from '@gatehouse/kit/folded-group';
import { RecentMap } from '@gatehouse/kit/recent-map';
import { maxCountersOfRun } from '../bounds.ts';
import { counterOf, dependsOnModel, fields, type PolicyCounter, type Field, type Policy } from './policy.ts';

/** The properties of a run for selections, apart from the model called. */
export interface RunFacts {
  userId: string | null;
  /** The names of the user's groups when the run began. */
  groups: readonly string[];
  agent: { id: string; key: string } | null;
  apiKeyId: string | null;
  sessionId: string | null;
  /** Whether its providers are called with keys of the tenant's own. */
  ownKey: boolean;
}

/** The most groups in the memory of an index; others are compared with all patterns again. */
const maxRecentGroups = 500;

/** Bit `n` stands for the policy with this index. */
type PolicySet = bigint;

/** The policies of a tenant, indexed by selected names. */
export class PolicyIndex {
  readonly #policies: readonly Policy[];
  readonly #indexes: Readonly<Record<Field, FieldIndex>>;
  readonly #countingOwnKeys: PolicySet;
  /** The policies by the groups of late: a user may have 100 of them, and a tenant 6,400 patterns. */
  readonly #selectingGroups = new RecentMap<{ policies: PolicySet }>(maxRecentGroups);

  constructor(policies: readonly Policy[]) {
    this.#policies = policies;
    const indexOf = (field: Field): FieldIndex =>
      new FieldIndex(policies.map(({ select }) => select[field]?.map((entry) => folded(field, entry))));
    this.#indexes = {
      users: indexOf('users'),
      groups: indexOf('groups'),
      agents: indexOf('agents'),
      apiKeys: indexOf('apiKeys'),
      models: indexOf('models'),
    };
    this.#countingOwnKeys = setOf(policies, ({ countsOwnKeys }) => countsOwnKeys);
  }

  /** Roughly its bytes in memory. */
  get bytes(): number {
    const entries = this.#policies.flatMap(({ select }) => Object.values(select).flat());
    const groups = this.#policies.some(({ select }) => select.groups !== undefined) ? maxRecentGroups : 0;
    const fixed = 1_000 * this.#policies.length + 700 * groups;
    return entries.reduce((sum, entry) => sum + 4 * entry.length + 200, fixed);
  }

  /** The policies of a run, if it calls the right models. They hold until the run ends. */
  matching(facts: RunFacts): RunPolicies {
    const groups = facts.groups.map(foldedGroup);
    const valuesOf: Record<Exclude<Field, 'groups' | 'models'>, readonly string[]> = {
      users: listOf(facts.userId),
      agents: facts.agent === null ? [] : [facts.agent.id, facts.agent.key],
      apiKeys: listOf(facts.apiKeyId),
    };
    const selecting = groups.map((group) => ({ group, policies: this.#selecting(group) }));
    let matching = facts.ownKey ? this.#countingOwnKeys : setOf(this.#policies, () => true);
    for (const field of fields)
      if (field !== 'groups' && field !== 'models')
        matching &= this.#indexes[field].matching(valuesOf[field]);
    matching &= selecting.reduce((set, { policies }) => set | policies, this.#indexes.groups.matching([]));
    return new RunPolicies({
      candidates: membersOf(this.#policies, matching),
      facts: { ...facts, groups },
      groupsOf: (index) =>
        selecting.filter(({ policies }) => hasBit(policies, index)).map(({ group }) => group),
      models: this.#indexes.models,
    });
  }

  #selecting(group: string): PolicySet {
    const compared = () => ({ policies: this.#indexes.groups.matching([group]) });
    return this.#selectingGroups.getOrMake(group, compared).policies;
  }
}

interface Candidate {
  policy: Policy;
  index: number;
}

interface RunPoliciesOptions {
  candidates: readonly Candidate[];
  facts: RunFacts;
  /** The groups of the run in the selection of a policy. */
  groupsOf: (index: number) => readonly string[];
  models: FieldIndex;
}

/** The policies of one run. */
export class RunPolicies {
  readonly #options: RunPoliciesOptions;
  /** Counters of policies with no model, which count each call. */
  readonly #sharedCounters: readonly PolicyCounter[];
  readonly #modelCandidates: readonly Candidate[];

  constructor(options: RunPoliciesOptions) {
    this.#options = options;
    const [some, all] = [
      options.candidates.filter(({ policy }) => dependsOnModel(policy)),
      options.candidates.filter(({ policy }) => !dependsOnModel(policy)),
    ];
    this.#modelCandidates = some;
    this.#sharedCounters = all.flatMap((candidate) => this.#countersOf(candidate, null));
  }

  /** Whether no call of the run counts anywhere. */
  get isEmpty(): boolean {
    return this.#sharedCounters.length === 0 && this.#modelCandidates.length === 0;
  }

  /** The counters of a call of a model. Throws 429 `too_many_counters` beyond 64. */
  countersOf(modelId: string): readonly PolicyCounter[] {
    const { models } = this.#options;
    const matching = this.#modelCandidates.length === 0 ? 0n : models.matching([modelId]);
    const modelCounters = this.#modelCandidates
      .filter(({ index }) => hasBit(matching, index))
      .flatMap((candidate) => this.#countersOf(candidate, modelId));
    const counters = [...this.#sharedCounters, ...modelCounters];
    if (counters.length > maxCountersOfRun)
      throw new AppError(
        'too_many_counters',
        `The request counts in more than ${maxCountersOfRun} counters of policies. Ask an administrator for fewer policies.`,
      );
    return counters;
  }

  #countersOf({ policy, index }: Candidate, modelId: string | null): PolicyCounter[] {
    const { userId, groups, apiKeyId } = this.#options.facts;
    const hasUser = policy.per === 'user' || policy.per === 'session';
    const user =
      hasUser && userId !== null ? { id: userId, groups: policy.per === 'user' ? groups : [] } : null;
    return this.#valuesOf(policy, index, modelId).map((value) =>
      counterOf(policy, value, { user, apiKeyId }),
    );
  }

  #valuesOf({ per }: Policy, index: number, modelId: string | null): readonly string[] {
    const { facts, groupsOf } = this.#options;
    switch (per) {
      case null:
        return [''];
      case 'user':
        return listOf(facts.userId);
      case 'group':
        return groupsOf(index);
      case 'agent':
        return listOf(facts.agent?.id ?? null);
      case 'api_key':
        return listOf(facts.apiKeyId);
      case 'session':
        return listOf(sessionValue(facts));
      case 'model':
        return listOf(modelId);
    }
  }
}

/** A session belongs to its user, or else to its key. The part before the slash has none. */
function sessionValue({ sessionId, userId, apiKeyId }: RunFacts): string | null {
  if (sessionId === null) return null;
  const holder = userId === null ? `key:${apiKeyId ?? ''}` : `user:${encodeURIComponent(userId)}`;
  return `${holder}/${sessionId}`;
}

/** Names of groups are the same in any case. */
function folded(field: Field, name: string): string {
  return field === 'groups' ? foldedGroup(name) : name;
}

/** The selections of all policies by one field. */
class FieldIndex {
  /** Policies without names in the field. */
  readonly #others: PolicySet;
  readonly #byName = new Map<string, PolicySet>();
  readonly #byPattern: readonly { pattern: readonly string[]; policies: PolicySet }[];

  /** `entries`: for each policy its names and patterns, or undefined. */
  constructor(entries: readonly (readonly string[] | undefined)[]) {
    this.#others = setOf(entries, (names) => names === undefined);
    const byPattern = new Map<string, PolicySet>();
    for (const [index, names = []] of entries.entries()) {
      for (const entry of names) {
        const sets = parsePattern(entry) === null ? this.#byName : byPattern;
        sets.set(entry, (sets.get(entry) ?? 0n) | bitOf(index));
      }
    }
    this.#byPattern = [...byPattern].map(([entry, policies]) => ({
      pattern: parsePattern(entry) ?? [],
      policies,
    }));
  }

  /** The policies with one of the values, or without names in the field. */
  matching(values: readonly string[]): PolicySet {
    let matching = this.#others;
    for (const value of values) {
      matching |= this.#byName.get(value) ?? 0n;
      for (const { pattern, policies } of this.#byPattern)
        if ((policies & ~matching) !== 0n && matchesPattern(pattern, value)) matching |= policies;
    }
    return matching;
  }
}

function bitOf(index: number): PolicySet {
  return 1n << BigInt(index);
}

function hasBit(set: PolicySet, index: number): boolean {
  return (set & bitOf(index)) !== 0n;
}

function setOf<Item>(items: readonly Item[], includes: (item: Item) => boolean): PolicySet {
  return items.reduce((set, item, index) => (includes(item) ? set | bitOf(index) : set), 0n);
}

function membersOf(policies: readonly Policy[], set: PolicySet): Candidate[] {
  return policies.flatMap((policy, index) => (hasBit(set, index) ? [{ policy, index }] : []));
}

function listOf(value: string | null): readonly string[] {
  return value === null ? [] : [value];
}
