import type { Fields } from '@gatehouse/kit/fields';
import type { ModelFacts } from '../translation/api.ts';
import { chatIds, withFittingIds } from '../translation/call-ids.ts';
import type { Conversation, Effort, OutputFormat, Tool } from '../translation/conversation.ts';
import { effortOf } from '../translation/effort.ts';
import { namingJson } from '../translation/json-output.ts';
import { RawJson } from '../wire/json-text.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { strictIn } from '../translation/strict-schema.ts';
import { writeMessages } from './message-writer.ts';

/** See `ProviderFormat`. */
export function* writeRequest(
  conversation: Conversation,
  facts: ModelFacts,
  dropped: DroppedFields,
): Steps<object> {
  const { output, stop, maxTokens, stream, tools, parallel } = conversation;
  const limit = maxTokens === null ? null : Math.min(maxTokens, facts.maxOutputTokens ?? Infinity);
  const turns = yield* withFittingIds(yield* namingJson(conversation), chatIds);
  return {
    model: facts.name,
    messages: yield* writeMessages(turns, { facts, dropped }),
    ...(limit !== null && { [facts.tokenLimit ?? 'max_completion_tokens']: limit }),
    ...(stop.length > 0 && { stop }),
    ...samplingOf(conversation, facts, dropped),
    ...(tools.length > 0 && { tools: tools.map((tool) => writeTool(tool, dropped)) }),
    ...(tools.length > 0 && conversation.choice !== null && { tool_choice: choiceOf(conversation.choice) }),
    ...(tools.length > 0 && parallel !== null && { parallel_tool_calls: parallel }),
    ...(output !== null && { response_format: formatOf(output, dropped) }),
    ...effortIn(conversation, facts, dropped),
    ...(stream && { stream }),
    ...(stream && facts.streamUsage !== false && { stream_options: { include_usage: true } }),
  };
}

function samplingOf({ sampling }: Conversation, facts: ModelFacts, dropped: DroppedFields): Fields {
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty } = sampling;
  if (topK !== null) dropped.ignoreField('topK');
  const named = {
    temperature: ['temperature', temperature],
    topP: ['top_p', topP],
    seed: ['seed', seed],
    presencePenalty: ['presence_penalty', presencePenalty],
    frequencyPenalty: ['frequency_penalty', frequencyPenalty],
  } as const;
  const written: Fields = {};
  for (const [field, [name, value]] of Object.entries(named)) {
    if (value === null) continue;
    if (facts.sampling) written[name] = value;
    else dropped.ignoreField(field as keyof typeof named);
  }
  return written;
}

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
  if (output.kind === 'json') return { type: 'json_object' };
  const { name, schemaJson, isStrict } = output;
  const strict = isStrict === true && strictIn(schemaJson, 'strictOutput', dropped);
  return {
    type: 'json_schema',
    json_schema: { name: name ?? 'answer', schema: new RawJson(schemaJson), strict },
  };
}

/** Efforts that any model takes which thinks; the newest take more. */
const written: Readonly<Record<Effort, string | null>> = {
  none: null,
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
};

function effortIn({ reasoning }: Conversation, facts: ModelFacts, dropped: DroppedFields): Fields {
  if (reasoning === null) return {};
  const effort = effortOf(reasoning);
  if (effort === null) return {};
  if (!facts.reasoning) {
    if (reasoning.isOn) dropped.ignoreField('reasoning');
    return {};
  }
  const value = writtenEffort(effort, facts);
  if (value === null) dropped.ignoreField('reasoning');
  return value === null ? {} : { reasoning_effort: value };
}

/** The effort as OpenAI's models take it; null for none, where a model can't but think. */
export function writtenEffort(effort: Effort, { name }: ModelFacts): string | null {
  if (effort === 'none' && /gpt-5(?![.\d])/.test(name)) return 'minimal';
  if (effort === 'none' && /gpt-(?:5\.[1-9]|[6-9])/.test(name)) return 'none';
  return isAbove(effort) && /gpt-(?:5\.[2-9]|[6-9])/.test(name) ? 'xhigh' : written[effort];
}

function isAbove(effort: Effort): boolean {
  return effort === 'xhigh' || effort === 'max';
}
