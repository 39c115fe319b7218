import { maxPreviewedValues, type Policy, type PolicyPreview } from '@gatehouse/contract/policies';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { usdOf } from '@gatehouse/kit/money';
import { foldedGroup } from '@gatehouse/kit/folded-group';
import { PolicyIndex, type Counter, type MatchedPolicy } from '@gatehouse/kit/policy-matching';
import { groupNameEntry } from '@gatehouse/kit/selection-index';
import { RunProperty, type RunGroup } from '@gatehouse/proto/analytics/v1/analytics';
import { amountsOf, type OverrideAmounts } from '../limits/policy-amounts.ts';
import { groupPrefix, namesAreIds, overriddenValue } from './policy.ts';

type Previewed = Pick<Policy, 'id' | 'select' | 'per' | 'limits' | 'budget' | 'overrides'>;

/** The properties of runs that decide about the counters of a policy. */
export function propertiesFor({ select, per, overrides }: Previewed): RunProperty[] {
  const hasGroupOverrides =
    per === 'user' && Object.keys(overrides).some((name) => name.startsWith(groupPrefix));
  const needed: [RunProperty, boolean][] = [
    [RunProperty.USER, select.users.length > 0 || per === 'user' || per === 'session'],
    [RunProperty.GROUPS, select.groups.length > 0 || hasGroupOverrides],
    [RunProperty.AGENT, select.agents.length > 0 || per === 'agent'],
    [RunProperty.API_KEY, select.api_keys.length > 0 || per === 'api_key' || per === 'session'],
    [RunProperty.SESSION, per === 'session'],
    [RunProperty.MODEL, select.models.length > 0 || per === 'model'],
  ];
  return needed.filter(([, isNeeded]) => isNeeded).map(([property]) => property);
}

/** The most spent by a counter in one window. */
interface Spending {
  counter: Counter<MatchedPolicy>;
  spent: bigint;
}

/** Adds up earlier runs as a policy would have counted them. */
export class PreviewSums {
  readonly #policy: Previewed;
  /** Overrides of groups by their folded names. */
  readonly #overrides: Previewed['overrides'];
  readonly #agentKeys: ReadonlyMap<string, string>;
  readonly #index: PolicyIndex<MatchedPolicy>;
  readonly #windows = new Map<string, Spending>();
  #runs = 0n;

  /** `agentKeys`: the keys of agents by their ids, for a policy that selects agents. */
  constructor(policy: Previewed, agentKeys: ReadonlyMap<string, string>) {
    const { id, per, select } = policy;
    const { users, groups, agents, api_keys: apiKeys, models } = select;
    const byName = groups.map(groupNameEntry);
    const fields = Object.entries({ users, groups: byName, agents, apiKeys, models });
    const named = Object.fromEntries(fields.filter(([, names]) => names.length > 0));
    this.#policy = policy;
    this.#overrides = Object.fromEntries(
      Object.entries(policy.overrides).map(([name, override]) => [
        overriddenValue(policy, name, namesAreIds),
        override,
      ]),
    );
    this.#agentKeys = agentKeys;
    // The ids of its counters are not used.
    this.#index = new PolicyIndex([
      { id, per, select: named, countsOwnKeys: true, counterKey: Buffer.alloc(32) },
    ]);
  }

  add({ agentId, userId, apiKeyId, sessionId, model, ...sums }: RunGroup): void {
    const agent = agentId === undefined ? null : { id: agentId, key: this.#agentKeys.get(agentId) ?? '' };
    // Earlier runs know names of groups alone.
    const groups = sums.groups.map((name) => ({ id: foldedGroup(name), name }));
    const matching = this.#index.matching({
      ...{ groups, agent, userId: userId ?? null, apiKeyId: apiKeyId ?? null },
      ...{ sessionId: sessionId ?? null, ownKey: false },
    });
    const counters = matching.countersOf(model ?? null);
    if (counters.length > 0) this.#runs += sums.runs;
    for (const counter of counters) {
      const name = cacheKey(counter.value, String(sums.windowStart));
      const spending = this.#windows.get(name) ?? { counter, spent: 0n };
      spending.spent += sums.costPico;
      this.#windows.set(name, spending);
    }
  }

  /** The result. `isCut`: whether not all runs were added. */
  preview(isCut: boolean): PolicyPreview {
    const byValue = new Map<string, { label: string; spent: bigint; budget: bigint }>();
    for (const { counter, spent } of this.#windows.values()) {
      const budget = this.#budgetOf(counter);
      const { value, label } = counter;
      if (budget !== null && spent > budget && spent > (byValue.get(value)?.spent ?? -1n))
        byValue.set(value, { label, spent, budget });
    }
    const over = [...byValue.values()].toSorted((a, b) => (a.spent > b.spent ? -1 : 1));
    return {
      runs: Number(this.#runs),
      values_over: over.slice(0, maxPreviewedValues).map(({ label, spent, budget }) => ({
        value: this.#policy.per === null ? null : label,
        ...{ spent_usd: usdOf(spent), budget_usd: usdOf(budget) },
      })),
      truncated: isCut || over.length > maxPreviewedValues,
    };
  }

  /** The budget of a counter in pico-USD; null without one. */
  #budgetOf({ value, user }: Counter<MatchedPolicy>): bigint | null {
    const { limits, budget } = this.#policy;
    const inForce = (name: string): OverrideAmounts[] => {
      const { until = null, budget_usd: usd } = this.#overrides[name] ?? {};
      const isOver = until !== null && new Date(until) <= new Date();
      return usd === undefined || isOver ? [] : [{ budget_usd: usd }];
    };
    return amountsOf({
      ...{ limits, budget },
      valueOverride: inForce(value)[0] ?? null,
      groupOverrides: (user?.groups ?? []).flatMap((group) => inForce(groupPrefix + group)),
    }).budget;
  }
}
