import { efforts, type Effort, type Reasoning } from './conversation.ts';

/** Budgets of tokens in place of efforts, for APIs and models with only one of both. */
const budgets: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 1_024,
  low: 4_096,
  medium: 12_288,
  high: 24_576,
  xhigh: 32_768,
  max: 65_536,
};

/** The requested budget; null where the client leaves it to the model. */
export function budgetOf({ effort, budget }: Reasoning): number | null {
  return budget ?? (effort === null || effort === 'none' ? null : budgets[effort]);
}

/** The budget for the word of an effort; null for an unknown word. */
export function budgetOfEffort(effort: string): number | null {
  return effort === 'none' ? 0 : (Object.entries(budgets).find(([name]) => name === effort)?.[1] ?? null);
}

/** The requested effort; null where the client leaves it to the model. A budget is rounded up to the next one. */
export function effortOf({ isOn, effort, budget }: Reasoning): Effort | null {
  if (!isOn) return 'none';
  if (effort !== null || budget === null) return effort;
  // `minimal` and those above `high` are known to few models.
  return budget <= budgets.low ? 'low' : budget <= budgets.medium ? 'medium' : 'high';
}

/**
 * The nearest effort among those that a model knows, which are sorted: the highest one that asks for no more, else the
 * least one. Null if it knows none.
 */
export function nearestEffort(effort: Effort, words: readonly Effort[]): Effort | null {
  const rank = efforts.indexOf(effort);
  const known = effort === 'none' ? words : words.filter((word) => word !== 'none');
  return known.findLast((word) => efforts.indexOf(word) <= rank) ?? known[0] ?? null;
}
