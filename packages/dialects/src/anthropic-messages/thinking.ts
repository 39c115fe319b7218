import type { Fields } from '@gatehouse/kit/fields';
import { factsOf } from '../model-facts.ts';
import type { ModelFacts } from '../translation/api.ts';
import type { Conversation, Effort, Turn } from '../translation/conversation.ts';
import { budgetOf, effortOf } from '../translation/effort.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';

/** Anthropic's minimum. */
const leastBudget = 1_024;

/** Efforts of Anthropic's API. */
const efforts: Readonly<Record<Effort, string | null>> = {
  none: null,
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};

/**
 * How a model is asked to think: newer models decide how much by the effort, older ones get a budget. Null where the client
 * asks for nothing, or the model does not think.
 */
export function thinkingOf(
  { reasoning, turns, choice }: Conversation,
  { facts, limit, dropped }: { facts: ModelFacts; limit: number; dropped: DroppedFields },
): { thinking: Fields | null; effort: string | null } {
  if (reasoning === null) return { thinking: null, effort: null };
  if (!facts.reasoning) {
    dropped.ignoreField('reasoning');
    return { thinking: null, effort: null };
  }
  const effort = effortOf(reasoning);
  const isOff = { thinking: { type: 'disabled' }, effort: null };
  if (!reasoning.isOn || effort === 'none') return isOff;
  const isForced = choice === 'required' || (typeof choice === 'object' && choice !== null);
  // With thinking on, the API refuses forced calls, and calls under way without the thoughts before them.
  if (isForced || lacksThoughts(turns)) return isOff;
  if (thinksByEffort(facts)) return { thinking: { type: 'adaptive' }, effort: effort && efforts[effort] };
  const budget = Math.min(budgetOf(reasoning) ?? leastBudget * 4, Math.floor(limit / 2));
  if (budget < leastBudget) {
    dropped.ignoreField('reasoning');
    return { thinking: null, effort: null };
  }
  return { thinking: { type: 'enabled', budget_tokens: budget }, effort: null };
}

/** An operator says of newer models that they take no sampling, where no version is in their name. */
function thinksByEffort(facts: ModelFacts): boolean {
  const { thinkingSize, version } = factsOf(facts);
  return version === null ? facts.sampling === false : thinkingSize.by === 'effort';
}

/** Whether calls without a thought of Anthropic's in their message wait for their results. */
function lacksThoughts(turns: readonly Turn[]): boolean {
  const last = turns.findLastIndex(({ role }) => role === 'assistant');
  const lastParts = turns[last]?.parts ?? [];
  const isOpen = lastParts.some(({ kind }) => kind === 'call');
  const isAnswered = turns.slice(last + 1).some(({ parts }) => parts.some(({ kind }) => kind === 'result'));
  if (!isOpen || !isAnswered) return false;
  return !lastParts.some((part) => part.kind === 'thinking' && part.signature?.origin === 'anthropic');
}
