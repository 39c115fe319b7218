import type { PolicyBudget, PolicyLimits } from '@gatehouse/contract/policies';
import { count, usd } from './amounts.ts';

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

function budgetText({ usd: amount, period }: PolicyBudget): string {
  return period === 'total' ? `${usd(amount)} in total` : `${usd(amount)}/${period}`;
}
