/** How much a request lets a model think. */
export interface Thinking {
  /** Budgets of tokens, each by one of the names that providers know. */
  budgets: readonly number[];
  /** The word for it, such as `high`; `none` where thinking is off, null where the model decides. */
  effort: string | null;
}

/** Longer than any word for an effort. */
const maxChars = 16;

export const noThinking: Thinking = { budgets: [], effort: 'none' };

/** A member of a request as the word for an effort. */
export function effortIn(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, maxChars).toLowerCase() : null;
}
