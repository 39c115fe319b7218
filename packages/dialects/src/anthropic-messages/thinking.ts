import type { Fields } from '@gatehouse/kit/fields';
import type { KnownFacts } from '../known-facts.ts';
import { bindingBeta, factsAs } from '../model-facts.ts';
import type { ModelFacts } from '../translation/api.ts';
import type { Conversation, Effort, Reasoning, Turn } from '../translation/conversation.ts';
import { budgetOf, effortOf, nearestEffort } from '../translation/effort.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';

/** The budget where the client leaves it to the model. */
const usualBudget = 4_096;

/** How a request asks a model to think. */
export interface AskedThinking {
  thinking: Fields | null;
  effort: Effort | null;
  /** Whether the model thinks: it gets its thoughts back then, and takes no parameters of sampling. */
  isThinking: boolean;
}

const silent: AskedThinking = { thinking: null, effort: null, isThinking: false };

interface ThinkingOptions {
  facts: ModelFacts;
  /** The most tokens of the answer, thoughts included. */
  limit: number;
  dropped: DroppedFields;
}

/**
 * How a model is asked to think: newer models decide how much by the effort, older ones get a budget
 * (https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking).
 */
export function thinkingOf(conversation: Conversation, options: ThinkingOptions): AskedThinking {
  const { reasoning, turns, choice } = conversation;
  const { facts, dropped } = options;
  const known = factsAs('claude', facts);
  if (reasoning === null) return bound({ ...silent, isThinking: known.thinksByDefault }, turns, options);
  if (!facts.reasoning) {
    dropped.ignoreField('reasoning');
    return silent;
  }
  if (!reasoning.isOn || effortOf(reasoning) === 'none')
    return bound(withoutThinking(known, dropped), turns, options);
  // A turn goes on without the thoughts before its calls if thinking can't be off.
  const isLacking = known.thinkingOff !== 'never' && lacksThoughts(turns);
  if (isLacking || (isForced(choice) && known.forcedCalls === 'offOnly')) {
    dropped.ignoreField('reasoning');
    return bound(withoutThinking(known, dropped), turns, options);
  }
  return thinksByEffort(facts)
    ? bound(byEffort(reasoning, known, dropped), turns, options)
    : byBudget(reasoning, options);
}

function withoutThinking({ thinkingOff }: KnownFacts, dropped: DroppedFields): AskedThinking {
  if (thinkingOff === 'omit') return silent;
  if (thinkingOff !== 'never') return { ...silent, thinking: { type: thinkingOff } };
  dropped.ignoreField('reasoning');
  return { thinking: null, effort: 'low', isThinking: true };
}

function byEffort(reasoning: Reasoning, { thinkingSize }: KnownFacts, dropped: DroppedFields): AskedThinking {
  const requestedEffort = effortOf(reasoning);
  const words = thinkingSize.by === 'effort' ? thinkingSize.words : newestEfforts;
  const effort = requestedEffort === null ? null : nearestEffort(requestedEffort, words);
  if (effort !== requestedEffort) dropped.ignoreField('reasoning');
  return { thinking: { type: 'adaptive' }, effort, isThinking: true };
}

const newestEfforts: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];

function byBudget(reasoning: Reasoning, { facts, limit, dropped }: ThinkingOptions): AskedThinking {
  const { thinkingSize } = factsAs('claude', facts);
  const least = thinkingSize.by === 'budget' ? thinkingSize.least : 0;
  const requestedBudget = budgetOf(reasoning);
  // An answer needs its part of the limit, too.
  const budget = Math.min(requestedBudget ?? usualBudget, Math.floor(limit / 2));
  if (budget !== requestedBudget) dropped.ignoreField('reasoning');
  if (budget < least) {
    dropped.ignoreField('reasoning');
    return silent;
  }
  return { thinking: { type: 'enabled', budget_tokens: budget }, effort: null, isThinking: true };
}

/** An operator says of newer models that they take no sampling, where no version is in their name. */
function thinksByEffort(facts: ModelFacts): boolean {
  const { thinkingSize, version } = factsAs('claude', facts);
  return thinkingSize.by === 'effort' || (version === null && facts.sampling === false);
}

/** The member of `thinking` that asks for it. */
export const blockBinding = { block_binding: { prefix_mismatch_behavior: 'drop_block' } };

/**
 * Asks the API to leave out thoughts instead of refusing them: translation may write the conversation before them
 * differently than in the last request
 * (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). Hosts without the beta get none back.
 */
function bound(request: AskedThinking, turns: readonly Turn[], { facts }: ThinkingOptions): AskedThinking {
  const { bindsThinking } = factsAs('claude', facts);
  if (!bindsThinking || !request.isThinking || !turns.some(hasThoughts)) return request;
  if (facts.betas?.includes(bindingBeta) !== true) return { ...request, isThinking: false };
  return { ...request, thinking: { ...(request.thinking ?? { type: 'adaptive' }), ...blockBinding } };
}

function hasThoughts({ parts }: Turn): boolean {
  return parts.some(({ kind }) => kind === 'thinking');
}

/** The conversation for a model that may refuse forced calls: it is left to choose then. */
export function withTakenChoice(
  conversation: Conversation,
  facts: ModelFacts,
  dropped: DroppedFields,
): Conversation {
  if (!isForced(conversation.choice) || factsAs('claude', facts).forcedCalls !== 'never') return conversation;
  dropped.ignoreField('choice');
  return { ...conversation, choice: 'auto' };
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

function isForced(choice: Conversation['choice']): boolean {
  return choice === 'required' || (typeof choice === 'object' && choice !== null);
}
