import { createHmac, hash } from 'node:crypto';
import { RecentMap } from './recent-map.ts';
import { listOf, SelectionIndex, type RunGroup, type Select, type SelectedRun } from './selection-index.ts';

/** The policies of a run and their counters. Chat counts with it, and the tenant service shows it. */

/** Each of its values has a counter of its own. */
export const policyPers = ['user', 'group', 'agent', 'api_key', 'session', 'model'] as const;
export type Per = (typeof policyPers)[number];

/** The part of a policy for matching. */
export interface MatchedPolicy {
  id: string;
  /** Names and patterns by field, of groups those by `groupEntry`; fields without any are absent. */
  select: Select;
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

/** The properties of a run, apart from the model called. */
export interface RunFacts extends SelectedRun {
  sessionId: string | null;
  /** Whether its providers are called with keys of the tenant's own. */
  ownKey: boolean;
}

/** The policies of a tenant, indexed by selected names. */
export class PolicyIndex<Policy extends MatchedPolicy> {
  readonly #policies: readonly Policy[];
  readonly #selections: SelectionIndex<Policy>;
  readonly #counterIds: CounterIds;

  /** `counterIds`: those of indexes before, and of other tenants. */
  constructor(policies: readonly Policy[], counterIds = new CounterIds()) {
    this.#policies = policies;
    this.#counterIds = counterIds;
    this.#selections = new SelectionIndex(policies);
  }

  /** Roughly its bytes in memory. */
  get bytes(): number {
    return 1_000 * this.#policies.length + this.#selections.bytes;
  }

  /**
   * The policies of a run, if it calls the right models. They hold until the run ends. `further`: policies beside those of
   * the index, without a selection.
   */
  matching(facts: RunFacts, further: readonly Policy[] = []): RunPolicies<Policy> {
    const { items, groupsOf } = this.#selections.matching(facts);
    const candidates = items.map(({ item, index }) => ({ policy: item, index }));
    return new RunPolicies({
      candidates: [
        ...candidates.filter(({ policy }) => !facts.ownKey || policy.countsOwnKeys),
        ...further.map((policy, number) => ({ policy, index: this.#policies.length + number })),
      ],
      facts,
      groupsOf,
      selectingModels: (modelIds) => this.#selections.selectingModels(modelIds),
      counterIds: this.#counterIds,
    });
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
  selectingModels: (modelIds: readonly string[]) => (index: number) => boolean;
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
    if (modelId === null || this.#modelCandidates.length === 0) return this.#sharedCounters;
    const isSelected = this.#options.selectingModels([modelId]);
    const modelCounters = this.#modelCandidates
      .filter(({ index }) => isSelected(index))
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
