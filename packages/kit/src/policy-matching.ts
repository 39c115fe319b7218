import { createHmac, hash } from 'node:crypto';
import { cacheKey } from './cache-key.ts';
import { foldedGroup } from './folded-group.ts';
import { matchesPattern, parsePattern } from './name-pattern.ts';
import { RecentMap } from './recent-map.ts';

/** The policies of a run and their counters. Chat counts with it, and the tenant service shows it. */

/** The properties of a run by which a policy may select. */
export const policyFields = ['users', 'groups', 'agents', 'apiKeys', 'models'] as const;
export type PolicyField = (typeof policyFields)[number];

/** Each of its values has a counter of its own. */
export const policyPers = ['user', 'group', 'agent', 'api_key', 'session', 'model'] as const;
export type Per = (typeof policyPers)[number];

/** The part of a policy for matching. */
export interface MatchedPolicy {
  id: string;
  /** Names and patterns by field, of groups those by `groupEntry`; fields without any are absent. */
  select: Readonly<Partial<Record<PolicyField, readonly string[]>>>;
  per: Per | null;
  /** Whether it counts runs on the tenant's own provider keys. */
  countsOwnKeys: boolean;
  /** The key of the ids of its counters in the tenant. */
  counterKey: Buffer;
}

/** A counter of a policy: for one value of `per`, or for all runs, with an empty value. */
export interface Counter<Policy extends MatchedPolicy> {
  /** A UUID. */
  id: string;
  policy: Policy;
  /** The id of a group, which stays when the group gets another name. */
  value: string;
  /** The value as people know it: the name of a group. */
  label: string;
  /** The user of the value, with the ids of groups whose overrides count for it; null for other values. */
  user: { id: string; groups: readonly string[] } | null;
  /** The key of the request. */
  apiKeyId: string | null;
}

/** A group of a run's user. */
export interface RunGroup {
  id: string;
  name: string;
}

/** The properties of a run for selections, apart from the model called. */
export interface RunFacts {
  userId: string | null;
  /** The user's groups when the run began. */
  groups: readonly RunGroup[];
  agent: { id: string; key: string } | null;
  apiKeyId: string | null;
  sessionId: string | null;
  /** Whether its providers are called with keys of the tenant's own. */
  ownKey: boolean;
}

/** The most groups in the memory of an index; others are compared with all patterns again. */
const maxRecentGroups = 500;

/** An entry of `select.groups`: a group of the directory, whatever its name is. */
export function groupEntry(id: string): string {
  return `id:${id}`;
}

/** An entry of `select.groups`: the groups with a name, or with names like a pattern, in any case. */
export function groupNameEntry(name: string): string {
  return `name:${foldedGroup(name)}`;
}

/** Bit `n` stands for the policy with this index. */
type PolicySet = bigint;

/** The policies of a tenant, indexed by selected names. */
export class PolicyIndex<Policy extends MatchedPolicy> {
  readonly #policies: readonly Policy[];
  readonly #indexes: Readonly<Record<PolicyField, FieldIndex>>;
  readonly #countingOwnKeys: PolicySet;
  readonly #counterIds: CounterIds;
  /** The policies by the groups of late: a user may have 100 of them, and a tenant 320 patterns. */
  readonly #selectingGroups = new RecentMap<{ policies: PolicySet }>(maxRecentGroups);

  /** `counterIds`: those of indexes before, and of other tenants. */
  constructor(policies: readonly Policy[], counterIds = new CounterIds()) {
    this.#policies = policies;
    this.#counterIds = counterIds;
    const indexOf = (field: PolicyField): FieldIndex =>
      new FieldIndex(policies.map(({ select }) => select[field]));
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
    const groups = this.#indexes.groups.hasPatterns ? maxRecentGroups : 0;
    const fixed = 1_000 * this.#policies.length + 700 * groups;
    return entries.reduce((sum, entry) => sum + 4 * entry.length + 200, fixed);
  }

  /**
   * The policies of a run, if it calls the right models. They hold until the run ends. `further`: policies beside those of
   * the index, without a selection.
   */
  matching(facts: RunFacts, further: readonly Policy[] = []): RunPolicies<Policy> {
    const valuesOf: Record<Exclude<PolicyField, 'groups' | 'models'>, readonly string[]> = {
      users: listOf(facts.userId),
      agents: facts.agent === null ? [] : [facts.agent.id, facts.agent.key],
      apiKeys: listOf(facts.apiKeyId),
    };
    const selecting = facts.groups.map((group) => ({ group, policies: this.#selecting(group) }));
    let matching = facts.ownKey ? this.#countingOwnKeys : setOf(this.#policies, () => true);
    for (const field of policyFields)
      if (field !== 'groups' && field !== 'models')
        matching &= this.#indexes[field].matching(valuesOf[field]);
    matching &= selecting.reduce((set, { policies }) => set | policies, this.#indexes.groups.matching([]));
    return new RunPolicies({
      candidates: [
        ...membersOf(this.#policies, matching),
        ...further.map((policy, number) => ({ policy, index: this.#policies.length + number })),
      ],
      facts,
      groupsOf: (index) =>
        selecting.filter(({ policies }) => hasBit(policies, index)).map(({ group }) => group),
      models: this.#indexes.models,
      counterIds: this.#counterIds,
    });
  }

  #selecting({ id, name }: RunGroup): PolicySet {
    const { groups } = this.#indexes;
    const compared = () => ({
      policies: groups.naming(groupEntry(id)) | groups.matching([groupNameEntry(name)]),
    });
    // Names alone are found faster.
    if (!groups.hasPatterns) return compared().policies;
    return this.#selectingGroups.getOrMake(cacheKey(id, name), compared).policies;
  }
}

interface Candidate<Policy> {
  policy: Policy;
  index: number;
}

interface RunPoliciesOptions<Policy> {
  candidates: readonly Candidate<Policy>[];
  facts: RunFacts;
  /** The groups of the run in the selection of a policy. */
  groupsOf: (index: number) => readonly RunGroup[];
  models: FieldIndex;
  counterIds: CounterIds;
}

/** The policies of one run. */
export class RunPolicies<Policy extends MatchedPolicy> {
  readonly #options: RunPoliciesOptions<Policy>;
  /** Counters of policies with no model, which count each call. */
  readonly #sharedCounters: readonly Counter<Policy>[];
  readonly #modelCandidates: readonly Candidate<Policy>[];

  constructor(options: RunPoliciesOptions<Policy>) {
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

  /** The counters of a call of a model; null for those of every model. */
  countersOf(modelId: string | null): readonly Counter<Policy>[] {
    const { models } = this.#options;
    const matching = this.#modelCandidates.length === 0 || modelId === null ? 0n : models.matching([modelId]);
    const modelCounters = this.#modelCandidates
      .filter(({ index }) => hasBit(matching, index))
      .flatMap((candidate) => this.#countersOf(candidate, modelId));
    return [...this.#sharedCounters, ...modelCounters];
  }

  #countersOf({ policy, index }: Candidate<Policy>, modelId: string | null): Counter<Policy>[] {
    const { userId, groups, apiKeyId } = this.#options.facts;
    const hasUser = policy.per === 'user' || policy.per === 'session';
    const ids = policy.per === 'user' ? groups.map(({ id }) => id) : [];
    const user = hasUser && userId !== null ? { id: userId, groups: ids } : null;
    const counterOf = (value: string, label: string): Counter<Policy> => ({
      ...{ id: this.#options.counterIds.idOf(policy, value), policy, value },
      ...{ label, user, apiKeyId },
    });
    if (policy.per === 'group')
      return this.#options.groupsOf(index).map(({ id, name }) => counterOf(id, name));
    return this.#valuesOf(policy.per, modelId).map((long) => {
      const value = shortened(long);
      return counterOf(value, value);
    });
  }

  #valuesOf(per: Exclude<Per, 'group'> | null, modelId: string | null): readonly string[] {
    const { facts } = this.#options;
    switch (per) {
      case null:
        return [''];
      case 'user':
        return listOf(facts.userId);
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

const maxValueLength = 256;

/** A long value is replaced by its hash. */
function shortened(value: string): string {
  return value.length <= maxValueLength ? value : `sha256:${hash('sha256', value)}`;
}

/** Others are made again: a keyed hash takes 10 µs, which each policy of a request costs. */
const maxRecentIds = 20_000;

/** The ids of counters, of which those of late are in memory, for all tenants together. */
export class CounterIds {
  readonly #recent = new RecentMap<{ id: string }>(maxRecentIds);

  idOf({ counterKey }: Pick<MatchedPolicy, 'counterKey'>, value: string): string {
    const made = () => ({ id: counterId(counterKey, value) });
    return this.#recent.getOrMake(counterKey.toString('latin1') + value, made).id;
  }
}

/**
 * The id of a counter is the same on every replica: a UUID of RFC 9562, version 8, of a keyed hash (HMAC-SHA-256), since
 * it outlives the deletion of a user's data.
 */
function counterId(counterKey: Buffer, value: string): string {
  const digest = createHmac('sha256', counterKey).update(value).digest('hex');
  const variant = ((parseInt(digest.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`];
  return [...parts, `${variant}${digest.slice(18, 20)}`, digest.slice(20, 32)].join('-');
}

/** Whether a policy counts some models alone, or each apart. */
export function dependsOnModel({ per, select }: MatchedPolicy): boolean {
  return per === 'model' || select.models !== undefined;
}

/** A session belongs to its user, or else to its key. The part before the slash has none. */
function sessionValue({ sessionId, userId, apiKeyId }: RunFacts): string | null {
  if (sessionId === null) return null;
  const holder = userId === null ? `key:${apiKeyId ?? ''}` : `user:${encodeURIComponent(userId)}`;
  return `${holder}/${sessionId}`;
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

  get hasPatterns(): boolean {
    return this.#byPattern.length > 0;
  }

  /** The policies with a value, apart from patterns. */
  naming(value: string): PolicySet {
    return this.#byName.get(value) ?? 0n;
  }

  /** The policies with one of the values, or without names in the field. */
  matching(values: readonly string[]): PolicySet {
    let matching = this.#others;
    for (const value of values) {
      matching |= this.naming(value);
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

function membersOf<Policy>(policies: readonly Policy[], set: PolicySet): Candidate<Policy>[] {
  return policies.flatMap((policy, index) => (hasBit(set, index) ? [{ policy, index }] : []));
}

function listOf(value: string | null): readonly string[] {
  return value === null ? [] : [value];
}
