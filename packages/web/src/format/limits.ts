import type { LimitState } from '@gatehouse/contract/limits';
import type { PolicyBudget, PolicyLimits } from '@gatehouse/contract/policies';
import { compareDecimals, count, usd } from './amounts.ts';

/** Limits and a budget of a key or a policy, each as a text such as `60 requests/min` or `$20.00/month`. */
export function amountTexts(limits: PolicyLimits | null, budget: PolicyBudget | null): string[] {
  const counts = [
    [limits?.requests_per_minute, 'requests/min'],
    [limits?.tokens_per_minute, 'tokens/min'],
    [limits?.max_concurrent, 'concurrent'],
  ] as const;
  const texts = counts.flatMap(([value, unit]) =>
    typeof value === 'number' ? [`${count(value)} ${unit}`] : [],
  );
  return budget === null ? texts : [...texts, budgetText(budget)];
}

/** The budget with the least left, which stops requests first. */
export function nextBudget(limits: readonly LimitState[]): LimitState | undefined {
  const left = ({ remaining }: LimitState): string => String(remaining ?? '0');
  return limits
    .filter(({ resource }) => resource === 'budget')
    .toSorted((one, other) => compareDecimals(left(one), left(other)))[0];
}

/** The policy of a limit with the value counted, such as `people: ada`; empty for the tenant and the key. */
export function policyOfLimit({ policy, value }: LimitState): string {
  return [policy, value].filter((text) => text !== null).join(': ');
}

function budgetText({ usd: amount, period }: PolicyBudget): string {
  return period === 'total' ? `${usd(amount)} in total` : `${usd(amount)}/${period}`;
}
