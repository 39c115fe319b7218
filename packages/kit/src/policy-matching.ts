import { createHmac, hash } from 'node:crypto';
import { AppError } from './errors.ts';
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
  /** Names and patterns by field; fields without any are absent. */
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
  value: string;
  /** The user of the value, with the groups whose overrides count for it; null for other values. */
  user: { id: string; groups: readonly string[] } | null;
  /** The key of the request. */
  apiKeyId: string | null;
}

/** Counters of policies of one provider call; a request with more is refused. */
const maxCounters = 64;

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
export class PolicyIndex<Policy extends MatchedPolicy> {
  readonly #policies: readonly Policy[];
  readonly #indexes: Readonly<Record<PolicyField, FieldIndex>>;
  readonly #countingOwnKeys: PolicySet;
  /** The policies by the groups of late: a user may have 100 of them, and a tenant 1,280 patterns. */
  readonly #selectingGroups = new RecentMap<{ policies: PolicySet }>(maxRecentGroups);

  constructor(policies: readonly Policy[]) {
    this.#policies = policies;
    const indexOf = (field: PolicyField): FieldIndex =>
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
    const groups = this.#indexes.groups.hasPatterns ? maxRecentGroups : 0;
    const fixed = 1_000 * this.#policies.length + 700 * groups;
    return entries.reduce((sum, entry) => sum + 4 * entry.length + 200, fixed);
  }

  /** The policies of a run, if it calls the right models. They hold until the run ends. */
  matching(facts: RunFacts): RunPolicies<Policy> {
    const groups = facts.groups.map(foldedGroup);
    const valuesOf: Record<Exclude<PolicyField, 'groups' | 'models'>, readonly string[]> = {
      users: listOf(facts.userId),
      agents: facts.agent === null ? [] : [facts.agent.id, facts.agent.key],
      apiKeys: listOf(facts.apiKeyId),
    };
    const selecting = groups.map((group) => ({ group, policies: this.#selecting(group) }));
    let matching = facts.ownKey ? this.#countingOwnKeys : setOf(this.#policies, () => true);
    for (const field of policyFields)
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
    // Names alone are found faster.
    if (!this.#indexes.groups.hasPatterns) return compared().policies;
    return this.#selectingGroups.getOrMake(group, compared).policies;
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
  groupsOf: (index: number) => readonly string[];
  models: FieldIndex;
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

  /** The counters of a call of a model; null for those of every model. Throws 429 `too_many_counters` beyond 64. */
  countersOf(modelId: string | null): readonly Counter<Policy>[] {
    const { models } = this.#options;
    const matching = this.#modelCandidates.length === 0 || modelId === null ? 0n : models.matching([modelId]);
    const modelCounters = this.#modelCandidates
      .filter(({ index }) => hasBit(matching, index))
      .flatMap((candidate) => this.#countersOf(candidate, modelId));
    const counters = [...this.#sharedCounters, ...modelCounters];
    if (counters.length > maxCounters)
      throw new AppError(
        'too_many_counters',
        `The request counts in more than ${maxCounters} counters of policies. Ask an administrator for fewer policies.`,
      );
    return counters;
  }

  #countersOf({ policy, index }: Candidate<Policy>, modelId: string | null): Counter<Policy>[] {
    const { userId, groups, apiKeyId } = this.#options.facts;
    const hasUser = policy.per === 'user' || policy.per === 'session';
    const user =
      hasUser && userId !== null ? { id: userId, groups: policy.per === 'user' ? groups : [] } : null;
    return this.#valuesOf(policy, index, modelId).map((value) =>
      counterOf(policy, value, { user, apiKeyId }),
    );
  }

  #valuesOf({ per }: MatchedPolicy, index: number, modelId: string | null): readonly string[] {
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

const maxValueLength = 256;

/**
 * The counter of a value; a long value is replaced by its hash. Its id is the same on every replica: a UUID of RFC 9562,
 * version 8, of a keyed hash (HMAC-SHA-256), since it outlives the deletion of a user's data.
 */
function counterOf<Policy extends MatchedPolicy>(
  policy: Policy,
  longValue: string,
  holder: Pick<Counter<Policy>, 'user' | 'apiKeyId'>,
): Counter<Policy> {
  const value = longValue.length <= maxValueLength ? longValue : `sha256:${hash('sha256', longValue)}`;
  const digest = createHmac('sha256', policy.counterKey).update(value).digest('hex');
  const variant = ((parseInt(digest.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`];
  const id = [...parts, `${variant}${digest.slice(18, 20)}`, digest.slice(20, 32)].join('-');
  return { id, policy, value, ...holder };
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

/** Names of groups are the same in any case. */
function folded(field: PolicyField, name: string): string {
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

  get hasPatterns(): boolean {
    return this.#byPattern.length > 0;
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

function membersOf<Policy>(policies: readonly Policy[], set: PolicySet): Candidate<Policy>[] {
  return policies.flatMap((policy, index) => (hasBit(set, index) ? [{ policy, index }] : []));
}

function listOf(value: string | null): readonly string[] {
  return value === null ? [] : [value];
}
