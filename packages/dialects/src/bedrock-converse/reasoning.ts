import type { Fields } from '@gatehouse/kit/fields';
import type { ModelFacts } from '../translation/api.ts';
import type { Conversation, Effort } from '../translation/conversation.ts';
import { effortOf, lowToHigh } from '../translation/effort.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { thinkingOf } from '../anthropic-messages/thinking.ts';
import { familyOf } from '../model-family.ts';

interface AskedReasoning {
  /** Whether the model thinks, and takes no parameters of sampling then. */
  isThinking: boolean;
  /** Whether it gets its thoughts back. */
  keepsThoughts: boolean;
  effort: string | null;
  /** Fields of its family. */
  additional: Fields;
}

const none: AskedReasoning = { isThinking: false, keepsThoughts: false, effort: null, additional: {} };

/** How a model is asked to think, by its family. Models of others decide by themselves. */
export function reasoningOf(
  conversation: Conversation,
  options: { facts: ModelFacts; limit: number; dropped: DroppedFields },
): AskedReasoning {
  const { reasoning } = conversation;
  const { facts, dropped } = options;
  const family = familyOf(facts);
  if (family === 'claude') return claudeReasoning(conversation, options);
  const others = { ...none, keepsThoughts: true };
  if (reasoning === null) return others;
  const effort = effortOf(reasoning);
  if (facts.reasoning && family === 'nova') return { ...others, additional: novaFields(effort) };
  if (facts.reasoning && family === 'gpt' && effort !== null)
    // OpenAI's open models think always.
    return { ...others, additional: { reasoning_effort: lowToHigh(effort) } };
  if (reasoning.isOn) dropped.ignoreField('reasoning');
  return others;
}

/** Off is said by leaving it out: the newest models refuse it in words. */
function claudeReasoning(
  conversation: Conversation,
  options: { facts: ModelFacts; limit: number; dropped: DroppedFields },
): AskedReasoning {
  const { thinking, effort } = thinkingOf(conversation, options);
  if (thinking === null || thinking['type'] === 'disabled') return none;
  return { isThinking: true, keepsThoughts: true, effort, additional: { thinking } };
}

/** Efforts of Nova 2. `high` refuses a limit of tokens. */
function novaFields(effort: Effort | null): Fields {
  if (effort === 'none') return { reasoningConfig: { type: 'disabled' } };
  const isLow = effort === 'minimal' || effort === 'low';
  return { reasoningConfig: { type: 'enabled', maxReasoningEffort: isLow ? 'low' : 'medium' } };
}
