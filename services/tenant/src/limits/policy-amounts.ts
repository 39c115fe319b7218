import type { PolicyBudget, PolicyLimits } from '@gatehouse/contract/policies';
import { cappedPico, picoOf } from '@gatehouse/kit/money';
import type { SetResource } from './leases.ts';

/** Amounts of an override as stored: absent members follow the policy, null is no limit. */
export interface OverrideAmounts {
  budget_usd?: string | null;
  limits?: Partial<PolicyLimits> | null;
}

/** A policy's amounts, and its overrides for one of its counters. */
export interface PolicyAmounts {
  limits: PolicyLimits;
  budget: PolicyBudget | null;
  /** The override of the value; null without one. */
  valueOverride: OverrideAmounts | null;
  /** Those of the groups of its user. */
  groupOverrides: readonly OverrideAmounts[];
}

/**
 * The amounts of a counter; null without a limit. The override of the value comes before those of groups, and the
 * largest of these counts.
 */
export function amountsOf(policy: PolicyAmounts): Record<SetResource, bigint | null> {
  const { limits, budget } = policy;
  const count = (name: keyof PolicyLimits): bigint | null =>
    amountOf(policy, countOf(limits[name]) ?? null, (override) => countOf(override.limits?.[name]));
  return {
    requests: count('requests_per_minute'),
    tokens: count('tokens_per_minute'),
    concurrency: count('max_concurrent'),
    budget: budget === null ? null : budgetOf(policy, budget),
  };
}

function budgetOf(policy: PolicyAmounts, { usd }: PolicyBudget): bigint | null {
  return amountOf(policy, picoFrom(usd), ({ budget_usd: amount }) =>
    amount === undefined || amount === null ? amount : picoFrom(amount),
  );
}

function amountOf(
  { valueOverride, groupOverrides }: PolicyAmounts,
  amount: bigint | null,
  overriding: (override: OverrideAmounts) => bigint | null | undefined,
): bigint | null {
  const first = valueOverride === null ? undefined : overriding(valueOverride);
  if (first !== undefined) return first;
  const others = groupOverrides.map(overriding).filter((other) => other !== undefined);
  if (others.length === 0) return amount;
  return others.reduce((most, other) =>
    most === null || other === null ? null : most > other ? most : other,
  );
}

function countOf(count: number | null | undefined): bigint | null | undefined {
  return typeof count === 'number' ? BigInt(count) : count;
}

function picoFrom(usd: string): bigint {
  return cappedPico(picoOf(usd));
}
