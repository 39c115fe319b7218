import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import {
  type Conversation,
  type OutputFormat,
  type Reasoning,
  type Tool,
  type ToolChoice,
  type Turn,
  efforts,
  noSampling,
  type Effort,
} from '../translation/conversation.ts';
import { booleanIn, numberIn, stopIn, textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import {
  usualNames,
  type FieldNames,
  type DroppedFields,
  type Members,
} from '../translation/dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { cacheHint, cachePointOf, withFinalPoint } from '../translation/cache-points.ts';
import { readContent, systemParts } from './content-reader.ts';

export const fieldNames: FieldNames = {
  ...usualNames,
  parallel: 'tool_choice.disable_parallel_tool_use',
  stop: 'stop_sequences',
  ...{ output: 'output_config.format', strictOutput: 'output_config.format', reasoning: 'thinking' },
  ...{ outputSchema: 'output_config.format.schema', toolSchema: 'tools.input_schema' },
};

/** Translated fields. All others are hints, but for the refused ones. */
const translated = [
  ...(['model', 'messages', 'system', 'max_tokens', 'stop_sequences', 'stream', 'temperature'] as const),
  ...(['top_p', 'top_k', 'thinking', 'tool_choice', 'tools', 'output_config'] as const),
];

/** Fields for features of Anthropic alone. */
const decisive = ['container', 'mcp_servers'] as const;

/** See `ClientFormat`. */
export function* readRequest(body: Fields, source: JsonSource, dropped: DroppedFields): Steps<Conversation> {
  // By this code Anthropic's SDKs know to send the whole conversation.
  if (isGiven(body['thread']))
    throw dropped.unsupportedParameter('thread', undefined, 'thread_unsupported_request');
  for (const name of decisive) if (isGiven(body[name])) throw dropped.unsupportedParameter(name);
  const fields = dropped.members(body, '', [...translated, ...decisive, 'thread']);
  const choice = dropped.members(fields['tool_choice'] ?? {}, 'tool_choice', choiceMembers);
  const isSerial = booleanIn(choice['disable_parallel_tool_use']);
  const turns = yield* turnsOf({ fields, body }, source, dropped);
  const tools: Tool[] = [];
  for (const [index, tool] of listOf(fields['tools']).entries()) {
    tools.push(toolOf(tool, index, { source, dropped }));
    yield;
  }
  return {
    turns,
    tools,
    choice: choiceOf(choice, dropped),
    parallel: isSerial === null ? null : !isSerial,
    maxTokens: numberIn(fields['max_tokens']),
    stop: stopIn(fields['stop_sequences'], 'stop_sequences', dropped),
    sampling: {
      ...noSampling,
      temperature: numberIn(fields['temperature']),
      topP: numberIn(fields['top_p']),
      topK: numberIn(fields['top_k']),
    },
    output: outputOf(fields['output_config'], source, dropped),
    reasoning: reasoningOf(fields, dropped),
    stream: fields['stream'] === true,
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

type RequestFields = Members<(typeof translated)[number]>;

const choiceMembers = ['type', 'name', 'disable_parallel_tool_use'] as const;

/** Claude Code begins with a block of its own for each session, which would break the caches of providers. */
const billingHeader = /^x-anthropic-billing-header:/;

function* turnsOf(
  { fields, body }: { fields: RequestFields; body: Fields },
  source: JsonSource,
  dropped: DroppedFields,
): Steps<Turn[]> {
  const parts = systemParts(fields['system'] ?? [], 'system', dropped).filter(
    ({ text }) => !billingHeader.test(text),
  );
  const messages = source.member('messages');
  const turns: Turn[] = parts.length === 0 ? [] : [{ role: 'system', parts }];
  const list = listOf(fields['messages']);
  const past = list.findLastIndex((message) => (Object(message) as Fields)['role'] === 'assistant');
  const compacted = compactedAt(list);
  if (compacted !== null) turns.push(compacted.summary);
  for (const [index, message] of list.entries()) {
    if (compacted !== null && index < compacted.message) continue;
    dropped.isHistory = index <= past;
    const at = `messages[${index}]`;
    const { role, content } = dropped.members(message, 'messages', ['role', 'content']);
    if (role === 'system' || role === 'developer')
      turns.push({ role: 'system', parts: systemParts(content, `${at}.content`, dropped) });
    else if (role === 'user' || role === 'assistant') {
      const place = { at: `${at}.content`, source: messages?.element(index)?.member('content') ?? null };
      const from = index === compacted?.message ? compacted.block + 1 : 0;
      turns.push({ role, parts: yield* readContent(content, { ...place, from, dropped }) });
    } else throw dropped.unsupportedParameter(`${at}.role`);
    yield;
  }
  dropped.isHistory = false;
  return withFinalPoint(turns, body);
}

interface Compaction {
  summary: Turn;
  /** The index of the message with it, and of the block in it. */
  message: number;
  block: number;
}

/**
 * The newest summary by Anthropic, which replaces all before it; null without one, as where it failed.
 * https://platform.claude.com/docs/en/build-with-claude/compaction
 */
function compactedAt(messages: readonly unknown[]): Compaction | null {
  const contentOf = (message: unknown): unknown[] => listOf((Object(message) as Fields)['content']);
  const isSummary = (block: unknown): boolean => summaryIn(block) !== '';
  const message = messages.findLastIndex((each) => contentOf(each).some(isSummary));
  if (message < 0) return null;
  const blocks = contentOf(messages[message]);
  const block = blocks.findLastIndex(isSummary);
  const text = `Summary of the conversation so far:\n\n${summaryIn(blocks[block])}`;
  return { summary: { role: 'user', parts: [{ kind: 'text', text }] }, message, block };
}

function summaryIn(block: unknown): string {
  const { type, content } = Object(block) as Fields;
  return type === 'compaction' ? textOf(content).trim() : '';
}

function toolOf(
  tool: unknown,
  index: number,
  { source, dropped }: { source: JsonSource; dropped: DroppedFields },
): Tool {
  const names = ['type', 'name', 'description', 'input_schema', 'strict', cacheHint] as const;
  const fields = dropped.members(tool, 'tools', names);
  const type = textIn(fields.type) ?? 'custom';
  if (type !== 'custom')
    throw dropped.unsupportedParameter(
      `tools[${index}].type`,
      `The model has no tool of the type ${type.slice(0, 64)}.`,
    );
  if (fields[cacheHint] !== undefined && !dropped.keeps(cacheHint)) dropped.ignore(cacheHint);
  return {
    name: textOf(fields['name']),
    namespace: null,
    description: textIn(fields['description']),
    schemaJson: isFields(fields.input_schema)
      ? (source.member('tools')?.element(index)?.textOf('input_schema') ?? null)
      : null,
    isFreeform: false,
    isStrict: booleanIn(fields['strict']),
    ...cachePointOf(tool),
  };
}

function choiceOf(
  { type, name }: Members<(typeof choiceMembers)[number]>,
  dropped: DroppedFields,
): ToolChoice | null {
  if (type === undefined) return null;
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return 'required';
  if (type === 'tool' && typeof name === 'string') return { name, namespace: null };
  throw dropped.unsupportedParameter(type === 'tool' ? 'tool_choice.name' : 'tool_choice.type');
}

function outputOf(config: unknown, source: JsonSource, dropped: DroppedFields): OutputFormat | null {
  const { format: outputFormat } = dropped.members(config ?? {}, 'output_config', ['format', 'effort']);
  if (outputFormat === undefined) return null;
  const format = dropped.members(outputFormat, 'output_config.format', ['type', 'schema']);
  const schemaJson = source.member('output_config')?.member('format')?.textOf('schema');
  if (format.type !== 'json_schema' || typeof schemaJson !== 'string')
    throw dropped.unsupportedParameter('output_config.format.type');
  return { kind: 'schema', name: null, schemaJson, isStrict: true };
}

const thinkingTypes: readonly unknown[] = ['enabled', 'adaptive', 'disabled'];

function reasoningOf(fields: RequestFields, dropped: DroppedFields): Reasoning | null {
  const { effort } = Object(fields['output_config']) as Fields;
  const names = ['type', 'budget_tokens'] as const;
  const { type: thinkingType, budget_tokens: budget } = dropped.members(
    fields['thinking'] ?? {},
    'thinking',
    names,
  );
  const isEffort = efforts.includes(effort as Effort);
  const type = thinkingTypes.includes(thinkingType) ? thinkingType : undefined;
  if (thinkingType !== type) dropped.ignore('thinking.type');
  if (!isEffort && effort !== undefined && effort !== null) dropped.ignore('output_config.effort');
  if (type === undefined && !isEffort) return null;
  return {
    isOn: type !== 'disabled',
    effort: isEffort ? (effort as Effort) : null,
    budget: type === 'enabled' ? numberIn(budget) : null,
  };
}
