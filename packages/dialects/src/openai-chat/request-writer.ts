import type { Fields } from '@gatehouse/kit/fields';
import type { KnownFacts } from '../known-facts.ts';
import { factsOf, thinksBy } from '../model-facts.ts';
import type { ModelFacts } from '../translation/api.ts';
import { chatIds, withFittingIds } from '../translation/call-ids.ts';
import type { Conversation, Effort, OutputFormat, Tool } from '../translation/conversation.ts';
import type { ModelFamily } from '../model-names.ts';
import { effortOf, nearestEffort } from '../translation/effort.ts';
import { framed, type Frame } from '../translation/framed-turns.ts';
import { limitOf } from '../translation/limits.ts';
import { namingJson } from '../translation/json-output.ts';
import { RawJson } from '../wire/json-text.ts';
import { samplingBy, type DroppedFields } from '../translation/dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { strictIn } from '../translation/strict-schema.ts';
import { writeMessages } from './message-writer.ts';

/** See `ProviderFormat`. */
export function* writeRequest(
  conversation: Conversation,
  facts: ModelFacts,
  dropped: DroppedFields,
): Steps<object> {
  const { output, stop, stream, tools, parallel } = conversation;
  const limit = limitOf(conversation, facts, dropped);
  const turns = yield* withFittingIds(yield* namingJson(conversation), chatIds);
  const placed = factsOf(facts).takesPrefill ? turns : framed(turns, withoutPrefill, dropped);
  const messages = yield* writeMessages(placed, { facts, dropped });
  const effort = effortWithTools(conversation, facts, dropped);
  const isThinking = thinksBy(effort, factsOf(facts));
  return {
    model: facts.name,
    messages,
    ...(limit !== null && { [facts.tokenLimit ?? 'max_completion_tokens']: limit }),
    ...(stop.length > 0 && { stop }),
    ...samplingBy(samplingNames, conversation, { facts, isThinking, dropped }),
    ...(tools.length > 0 && { tools: tools.map((tool) => writeTool(tool, dropped)) }),
    ...(tools.length > 0 && conversation.choice !== null && { tool_choice: choiceOf(conversation.choice) }),
    ...(tools.length > 0 && parallel !== null && { parallel_tool_calls: parallel }),
    ...(output !== null && { response_format: formatOf(output, dropped) }),
    ...(effort !== null && effortField(effort, factsOf(facts))),
    ...(stream && { stream }),
    ...(stream && facts.streamUsage !== false && { stream_options: { include_usage: true } }),
  };
}

function effortField(effort: Effort, { offField }: KnownFacts): Fields {
  return effort === 'none' && offField === 'thinking'
    ? { thinking: { type: 'disabled' } }
    : { reasoning_effort: effort };
}

/** All turns anywhere, but no beginning of an answer at the end. */
const withoutPrefill: Frame = { beginsWithUser: false, takesPrefill: false, takesSystem: false };

const samplingNames = {
  ...{ temperature: 'temperature', topP: 'top_p', seed: 'seed' },
  ...{ presencePenalty: 'presence_penalty', frequencyPenalty: 'frequency_penalty' },
};

function writeTool({ name, description, schemaJson, isStrict }: Tool, dropped: DroppedFields): Fields {
  const called = {
    name,
    ...(description !== null && { description }),
    ...(schemaJson !== null && { parameters: new RawJson(schemaJson) }),
    ...(isStrict !== null && { strict: isStrict && strictIn(schemaJson ?? '{}', 'strict', dropped) }),
  };
  return { type: 'function', function: called };
}

function choiceOf(choice: NonNullable<Conversation['choice']>): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };
}

function formatOf(output: OutputFormat, dropped: DroppedFields): Fields {
  return output.kind === 'json'
    ? { type: 'json_object' }
    : { type: 'json_schema', json_schema: schemaFormat(output, dropped) };
}

/** The members of a format by a schema. */
export function schemaFormat(
  { name, schemaJson, isStrict }: Extract<OutputFormat, { kind: 'schema' }>,
  dropped: DroppedFields,
): Fields {
  const strict = isStrict === true && strictIn(schemaJson, 'strictOutput', dropped);
  return { name: name ?? 'answer', schema: new RawJson(schemaJson), strict };
}

/** Efforts common to all models of unknown name that think. */
const commonEfforts: readonly Effort[] = ['minimal', 'low', 'medium', 'high'];

/** Makers whose efforts in chat completions and responses are known by the names of their models. */
const knownMakers: ReadonlySet<ModelFamily> = new Set(['openai', 'grok']);

/**
 * The effort as OpenAI's models take it; null for a request without an effort, or for a model that takes no such
 * effort.
 */
export function writtenEffort(
  { reasoning }: Conversation,
  facts: ModelFacts,
  dropped: DroppedFields,
): Effort | null {
  const effort = reasoning === null ? null : effortOf(reasoning);
  if (effort === null) return null;
  const { family, thinkingSize } = factsOf(facts);
  const isKnown = knownMakers.has(family) && thinkingSize.by === 'effort';
  const known = thinkingSize.by === 'effort' ? thinkingSize.words : [];
  const words = isKnown ? known : effort === 'none' ? known.filter((word) => word === 'none') : commonEfforts;
  const nearest = facts.reasoning ? nearestEffort(effort, words) : null;
  if (nearest !== effort && (facts.reasoning || reasoning?.isOn === true)) dropped.ignoreField('reasoning');
  return nearest;
}

/** The effort in chat completions, where some models take tools only without thinking. */
function effortWithTools(
  conversation: Conversation,
  facts: ModelFacts,
  dropped: DroppedFields,
): Effort | null {
  const effort = writtenEffort(conversation, facts, dropped);
  const known = factsOf(facts);
  if (conversation.tools.length === 0 || !facts.reasoning || !known.toolsNeedNoEffort) return effort;
  if (thinksBy(effort, known)) dropped.ignoreField('reasoning');
  // GPT-5.4 has refused `none`, too (https://github.com/livekit/agents/issues/5084).
  return known.thinksByDefault ? 'none' : null;
}
