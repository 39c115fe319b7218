import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { Conversation, OutputFormat, Reasoning, Tool, ToolChoice, Turn } from '../conversation.ts';
import { efforts, noSampling, type Effort } from '../conversation.ts';
import { booleanIn, numberIn, textIn, textsIn } from '../fields.ts';
import type { JsonSource } from '../json-text.ts';
import type { FieldNames, LeftOut } from '../left-out.ts';
import type { Steps } from '../steps.ts';
import { readContent, systemParts } from './content-reader.ts';

export const fieldNames: FieldNames = {
  choice: 'tool_choice',
  parallel: 'tool_choice.disable_parallel_tool_use',
  maxTokens: 'max_tokens',
  stop: 'stop_sequences',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  output: 'output_config.format',
  reasoning: 'thinking',
  strict: 'tools.strict',
  tools: 'tools',
};

/** Fields that are translated. All others are hints, but for those that are refused. */
const translated = new Set([
  ...['model', 'messages', 'system', 'max_tokens', 'stop_sequences', 'stream', 'temperature', 'top_p'],
  ...['top_k', 'thinking', 'tool_choice', 'tools', 'output_config'],
]);

/** Fields that give the model what only Anthropic has. */
const decisive = ['container', 'mcp_servers'];

/** See `RequestApi`. */
export function* readRequest(fields: Fields, source: JsonSource, left: LeftOut): Steps<Conversation> {
  // By this code Anthropic's SDKs know that they are to send the whole conversation.
  if (isGiven(fields['thread'])) throw left.refused('thread', undefined, 'thread_unsupported_request');
  for (const name of decisive) if (isGiven(fields[name])) throw left.refused(name);
  for (const [name, value] of Object.entries(fields))
    if (!translated.has(name) && !decisive.includes(name) && value !== null) left.ignore(name);
  const choice = Object(fields['tool_choice']) as Fields;
  const isSerial = booleanIn(choice['disable_parallel_tool_use']);
  const turns = yield* turnsOf(fields, source, left);
  const tools: Tool[] = [];
  for (const [index, tool] of listOf(fields['tools']).entries()) {
    tools.push(toolOf(tool, index, { source, left }));
    yield;
  }
  return {
    turns,
    tools,
    choice: choiceOf(choice),
    parallel: isSerial === null ? null : !isSerial,
    maxTokens: numberIn(fields['max_tokens']),
    stop: textsIn(fields['stop_sequences']),
    sampling: {
      ...noSampling,
      temperature: numberIn(fields['temperature']),
      topP: numberIn(fields['top_p']),
      topK: numberIn(fields['top_k']),
    },
    output: outputOf(fields['output_config'], source, left),
    reasoning: reasoningOf(fields, left),
    stream: fields['stream'] === true,
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

/** Claude Code begins with a block that changes with each session, which would break the caches of providers. */
const billingHeader = /^x-anthropic-billing-header:/;

function* turnsOf(fields: Fields, source: JsonSource, left: LeftOut): Steps<Turn[]> {
  const parts = systemParts(fields['system'], 'system', left).filter(({ text }) => !billingHeader.test(text));
  const messages = source.member('messages');
  const turns: Turn[] = parts.length === 0 ? [] : [{ role: 'system', parts }];
  for (const [index, message] of listOf(fields['messages']).entries()) {
    const at = `messages[${index}]`;
    const { role, content, ...others } = Object(message) as Fields;
    for (const name of Object.keys(others)) left.ignore(`messages.${name}`);
    if (role === 'system' || role === 'developer')
      turns.push({ role: 'system', parts: systemParts(content, `${at}.content`, left) });
    else if (role === 'user' || role === 'assistant') {
      const from = messages?.element(index)?.member('content') ?? null;
      turns.push({ role, parts: yield* readContent(content, { at: `${at}.content`, source: from, left }) });
    } else throw left.refused(`${at}.role`);
    yield;
  }
  return turns;
}

/** Fields of a tool that are translated. */
const translatedOfTools = new Set(['type', 'name', 'description', 'input_schema', 'strict']);

function toolOf(tool: unknown, index: number, { source, left }: { source: JsonSource; left: LeftOut }): Tool {
  const fields = Object(tool) as Fields;
  const type = textIn(fields['type']) ?? 'custom';
  if (type !== 'custom')
    throw left.refused(`tools[${index}].type`, `The model has no tool of the type ${type.slice(0, 64)}.`);
  for (const name of Object.keys(fields))
    if (!translatedOfTools.has(name)) left.ignore(name === 'cache_control' ? name : `tools.${name}`);
  return {
    name: textIn(fields['name']) ?? '',
    namespace: null,
    description: textIn(fields['description']),
    schemaJson: isFields(fields['input_schema'])
      ? (source.member('tools')?.element(index)?.textOf('input_schema') ?? null)
      : null,
    isFreeform: false,
    isStrict: booleanIn(fields['strict']),
  };
}

function choiceOf({ type, name }: Fields): ToolChoice | null {
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return 'required';
  return type === 'tool' && typeof name === 'string' ? { name, namespace: null } : null;
}

function outputOf(config: unknown, source: JsonSource, left: LeftOut): OutputFormat | null {
  const { format, effort: _effort, ...others } = Object(config) as Fields;
  for (const name of Object.keys(others)) left.ignore(`output_config.${name}`);
  if (!isFields(format)) return null;
  const schemaJson = source.member('output_config')?.member('format')?.textOf('schema');
  if (format['type'] !== 'json_schema' || typeof schemaJson !== 'string')
    throw left.refused('output_config.format.type');
  return { kind: 'schema', name: null, schemaJson, isStrict: true };
}

function reasoningOf(fields: Fields, left: LeftOut): Reasoning | null {
  const { effort } = Object(fields['output_config']) as Fields;
  const { type, budget_tokens: budget, ...others } = Object(fields['thinking']) as Fields;
  for (const name of Object.keys(others)) left.ignore(`thinking.${name}`);
  const isEffort = efforts.includes(effort as Effort);
  if (type === undefined && !isEffort) return null;
  return {
    isOn: type !== 'disabled',
    effort: isEffort ? (effort as Effort) : null,
    budget: type === 'enabled' ? numberIn(budget) : null,
  };
}
