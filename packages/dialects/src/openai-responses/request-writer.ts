import type { Fields } from '@gatehouse/kit/fields';
import type { ModelFacts } from '../translation/api.ts';
import { chatIds, withFittingIds } from '../translation/call-ids.ts';
import { writtenEffort } from '../openai-chat/request-writer.ts';
import type { Conversation, OutputFormat, Tool } from '../translation/conversation.ts';
import { effortOf } from '../translation/effort.ts';
import { namingJson } from '../translation/json-output.ts';
import { RawJson } from '../wire/json-text.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { strictIn } from '../translation/strict-schema.ts';
import { writeInput } from './input-writer.ts';

/** See `ProviderFormat`. */
export function* writeRequest(
  conversation: Conversation,
  facts: ModelFacts,
  dropped: DroppedFields,
): Steps<object> {
  const { output, stop, maxTokens, stream, tools, choice, parallel } = conversation;
  if (stop.length > 0) throw dropped.unsupportedField('stop');
  const limit = maxTokens === null ? null : Math.min(maxTokens, facts.maxOutputTokens ?? Infinity);
  if (limit !== null && limit < leastTokens) dropped.ignoreField('maxTokens');
  const turns = yield* withFittingIds(yield* namingJson(conversation), chatIds);
  const { instructions, input } = yield* writeInput(turns, dropped);
  return {
    model: facts.name,
    ...(instructions !== '' && { instructions }),
    input,
    // The API takes no fewer.
    ...(limit !== null && { max_output_tokens: Math.max(leastTokens, limit) }),
    ...samplingOf(conversation, facts, dropped),
    ...(tools.length > 0 && { tools: tools.map((tool) => writeTool(tool, dropped)) }),
    ...(tools.length > 0 && choice !== null && { tool_choice: choiceOf(choice) }),
    ...(tools.length > 0 && parallel !== null && { parallel_tool_calls: parallel }),
    ...(output !== null && { text: { format: formatOf(output, dropped) } }),
    ...reasoningIn(conversation, facts, dropped),
    store: false,
    ...(stream && { stream }),
  };
}

const leastTokens = 16;

function samplingOf({ sampling }: Conversation, facts: ModelFacts, dropped: DroppedFields): Fields {
  const { temperature, topP } = sampling;
  for (const name of ['topK', 'seed', 'presencePenalty', 'frequencyPenalty'] as const)
    if (sampling[name] !== null) dropped.ignoreField(name);
  for (const name of ['temperature', 'topP'] as const)
    if (!facts.sampling && sampling[name] !== null) dropped.ignoreField(name);
  return facts.sampling
    ? { ...(temperature !== null && { temperature }), ...(topP !== null && { top_p: topP }) }
    : {};
}

/** Functions are strict here unless they say otherwise. */
function writeTool({ name, description, schemaJson, isStrict }: Tool, dropped: DroppedFields): Fields {
  return {
    ...{ type: 'function', name },
    ...(description !== null && { description }),
    parameters: schemaJson === null ? { type: 'object', properties: {} } : new RawJson(schemaJson),
    strict: isStrict === true && strictIn(schemaJson ?? '{}', 'strict', dropped),
  };
}

function choiceOf(choice: NonNullable<Conversation['choice']>): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.name };
}

function formatOf(output: OutputFormat, dropped: DroppedFields): Fields {
  if (output.kind === 'json') return { type: 'json_object' };
  const { name, schemaJson, isStrict } = output;
  const strict = isStrict === true && strictIn(schemaJson, 'strictOutput', dropped);
  return { type: 'json_schema', name: name ?? 'answer', schema: new RawJson(schemaJson), strict };
}

/** Thoughts come back encrypted, so that they can go on in the next request. */
function reasoningIn({ reasoning }: Conversation, facts: ModelFacts, dropped: DroppedFields): Fields {
  const include = facts.reasoning ? { include: ['reasoning.encrypted_content'] } : {};
  const effort = reasoning === null ? null : effortOf(reasoning);
  if (effort === null) return include;
  if (!facts.reasoning) {
    if (reasoning?.isOn === true) dropped.ignoreField('reasoning');
    return {};
  }
  const written = writtenEffort(effort, facts);
  if (written === null) dropped.ignoreField('reasoning');
  return { ...include, ...(written !== null && { reasoning: { effort: written } }) };
}
