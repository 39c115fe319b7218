import type { ModelFacts } from './translation/api.ts';
import { maxOriginChars } from './bounds.ts';

/** Models with fields of their own beside the common part of Converse. */
export type ModelFamily = 'claude' | 'nova' | 'gpt' | 'other';

const names: readonly (readonly [ModelFamily, RegExp])[] = [
  ['claude', /claude/i],
  ['nova', /\bnova\b/i],
  ['gpt', /\bopenai\./i],
];

/** By the name, with the vendor in it except for a profile of the operator's own. */
export function familyOf({ name }: Pick<ModelFacts, 'name'>): ModelFamily {
  return names.find(([, pattern]) => pattern.test(name))?.[0] ?? 'other';
}

/** The origin of a model's thoughts. Anthropic's are the same in each of its APIs; others are read by their model alone. */
export function originOf(facts: Pick<ModelFacts, 'name'>): string {
  if (familyOf(facts) === 'claude') return 'anthropic';
  return `converse=${encodeURIComponent(facts.name).replaceAll('.', '%2E').slice(0, maxOriginChars)}`;
}
