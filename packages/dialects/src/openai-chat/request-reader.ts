import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import {
  type Conversation,
  type OutputFormat,
  type Reasoning,
  type Tool,
  type ToolChoice,
  efforts,
  type Effort,
} from '../translation/conversation.ts';
import { booleanIn, numberIn, stopIn, textIn } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import type { FieldNames, DroppedFields, Members } from '../translation/dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { freeformText } from '../translation/tool-names.ts';
import { readTurns } from './message-reader.ts';

export const fieldNames: FieldNames = {
  choice: 'tool_choice',
  parallel: 'parallel_tool_calls',
  maxTokens: 'max_completion_tokens',
  stop: 'stop',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  output: 'response_format',
  strictOutput: 'response_format.json_schema.strict',
  reasoning: 'reasoning_effort',
  strict: 'tools.strict',
  tools: 'tools',
};

/** Fields that are translated. All others are hints, but for those that are refused. */
const translated = [
  ...(['model', 'messages', 'max_tokens', 'max_completion_tokens', 'stop', 'stream'] as const),
  ...(['temperature', 'top_p', 'top_k', 'seed', 'presence_penalty', 'frequency_penalty'] as const),
  ...(['tools', 'functions', 'tool_choice', 'function_call', 'parallel_tool_calls'] as const),
  ...(['response_format', 'reasoning_effort', 'reasoning', 'thinking', 'stream_options'] as const),
];

type RequestMembers = Members<(typeof translated)[number]>;

/** Values of fields that decide the meaning of the answer, as far as they ask for nothing. */
const harmless: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: (value) => value === 1,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  logit_bias: (value) => isFields(value) && Object.keys(value).length === 0,
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
  web_search_options: () => false,
};

/** See `RequestApi`. */
export function* readRequest(request: Fields, source: JsonSource, left: DroppedFields): Steps<Conversation> {
  for (const [name, isHarmless] of Object.entries(harmless))
    if ((request[name] ?? null) !== null && !isHarmless(request[name])) throw left.refused(name);
  const fields = left.members(request, '', [...translated, ...Object.keys(harmless)]) as RequestMembers;
  const { choice, allowed } = choiceOf(fields, left);
  const turns = yield* readTurns(fields['messages'], left);
  const tools = yield* toolsOf(fields, source, left);
  return {
    turns,
    tools: tools.filter(({ name }) => allowed?.has(name) !== false),
    choice,
    parallel: booleanIn(fields['parallel_tool_calls']),
    maxTokens: numberIn(fields['max_completion_tokens']) ?? numberIn(fields['max_tokens']),
    stop: stopIn(fields['stop'], 'stop', left),
    sampling: {
      temperature: numberIn(fields['temperature']),
      topP: numberIn(fields['top_p']),
      topK: numberIn(fields['top_k']),
      seed: numberIn(fields['seed']),
      presencePenalty: numberIn(fields['presence_penalty']),
      frequencyPenalty: numberIn(fields['frequency_penalty']),
    },
    output: outputOf(fields['response_format'], source, left),
    reasoning: reasoningOf(fields, left),
    stream: fields['stream'] === true,
  };
}

/** `functions` is OpenAI's name before `tools`. */
function* toolsOf(fields: RequestMembers, source: JsonSource, left: DroppedFields): Steps<Tool[]> {
  const tools: Tool[] = [];
  for (const [index, tool] of listOf(fields['tools']).entries()) {
    tools.push(toolOf(tool, source.member('tools')?.element(index) ?? null, { at: `tools[${index}]`, left }));
    yield;
  }
  for (const [index, called] of listOf(fields['functions']).entries()) {
    tools.push(functionOf(called, source.member('functions')?.element(index) ?? null, left));
    yield;
  }
  return tools;
}

function toolOf(
  tool: unknown,
  source: JsonSource | null,
  { at, left }: { at: string; left: DroppedFields },
): Tool {
  const names = ['type', 'function', 'custom'] as const;
  const { type = 'function', function: called, custom } = left.members(tool, 'tools', names);
  if (type === 'function') return functionOf(called, source?.member('function') ?? null, left);
  if (type === 'custom') return freeformOf(custom, left);
  throw left.refused(`${at}.type`, `The model has no tool of the type ${String(type).slice(0, 64)}.`);
}

function functionOf(called: unknown, source: JsonSource | null, left: DroppedFields): Tool {
  const names = ['name', 'description', 'parameters', 'strict'] as const;
  const { name, description, parameters, strict } = left.members(called, 'tools.function', names);
  return {
    name: textIn(name) ?? '',
    namespace: null,
    description: textIn(description),
    schemaJson: isFields(parameters) ? (source?.textOf('parameters') ?? null) : null,
    isFreeform: false,
    isStrict: booleanIn(strict),
  };
}

function freeformOf(custom: unknown, left: DroppedFields): Tool {
  const names = ['name', 'description', 'format'] as const;
  const { name, description, format } = left.members(custom, 'tools.custom', names);
  return {
    ...{
      name: textIn(name) ?? '',
      namespace: null,
      description: freeformText(description, format, { left, path: 'tools.custom.format' }),
    },
    ...{ schemaJson: null, isFreeform: true, isStrict: null },
  };
}

/** `allowed`: names of the tools that may be called, where not all may. */
function choiceOf(
  { tool_choice: current, function_call: old }: RequestMembers,
  left: DroppedFields,
): { choice: ToolChoice | null; allowed: ReadonlySet<string> | null } {
  const choice = current ?? old ?? null;
  if (choice === null) return { choice, allowed: null };
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { choice, allowed: null };
  const names = ['type', 'function', 'custom', 'allowed_tools', 'name'] as const;
  const path = current === undefined ? 'function_call' : 'tool_choice';
  if (!isFields(choice)) throw left.refused(path);
  const { type, function: called, custom, allowed_tools: allowed, name } = left.members(choice, path, names);
  if (type === 'allowed_tools') {
    const at = `${path}.allowed_tools`;
    const { mode, tools } = left.members(allowed ?? {}, at, ['mode', 'tools']);
    const names = listOf(tools).map((tool) => toolNameIn(tool, { at: `${at}.tools`, left }) ?? '');
    return { choice: mode === 'required' ? 'required' : 'auto', allowed: new Set(names) };
  }
  const named = toolNameIn({ function: called, custom, name }, { at: path, left });
  if (named === null) throw left.refused(`${path}.function.name`);
  return { choice: { name: named, namespace: null }, allowed: null };
}

/** The name of a tool that a choice names, in the object of its type or beside it. */
function toolNameIn(tool: unknown, { at, left }: { at: string; left: DroppedFields }): string | null {
  const { function: called, custom, name } = left.members(tool, at, ['type', 'function', 'custom', 'name']);
  const inside = Object.entries({ function: called, custom }).flatMap(([kind, value]) =>
    value === undefined ? [] : [left.members(value, `${at}.${kind}`, ['name']).name],
  );
  return textIn(inside[0] ?? name);
}

function outputOf(format: unknown, source: JsonSource, left: DroppedFields): OutputFormat | null {
  const path = 'response_format';
  const { type, json_schema: schema } = left.members(format ?? {}, path, ['type', 'json_schema']);
  if (type === undefined || type === 'text') return null;
  if (type === 'json_object') return { kind: 'json' };
  const schemaJson = source.member('response_format')?.member('json_schema')?.textOf('schema');
  if (type !== 'json_schema' || typeof schemaJson !== 'string') throw left.refused('response_format.type');
  const names = ['name', 'schema', 'strict'] as const;
  const { name, strict } = left.members(schema, `${path}.json_schema`, names);
  return { kind: 'schema', name: textIn(name), schemaJson, isStrict: booleanIn(strict) };
}

/** Some clients send the members of other servers: a budget in `reasoning` or `thinking`. */
function reasoningOf(fields: RequestMembers, left: DroppedFields): Reasoning | null {
  const inReasoning = ['effort', 'max_tokens'] as const;
  const inThinking = ['type', 'budget_tokens'] as const;
  const { effort: nested, max_tokens: most } = left.members(
    fields['reasoning'] ?? {},
    'reasoning',
    inReasoning,
  );
  const { type, budget_tokens: budget } = left.members(fields['thinking'] ?? {}, 'thinking', inThinking);
  const effort = fields['reasoning_effort'] ?? nested;
  const isEffort = efforts.includes(effort as Effort);
  if (effort !== undefined && !isEffort) left.ignore('reasoning_effort');
  const tokens = numberIn(budget) ?? numberIn(most);
  if (!isEffort && tokens === null && type === undefined) return null;
  return {
    isOn: type !== 'disabled' && effort !== 'none',
    effort: isEffort ? (effort as Effort) : null,
    budget: tokens,
  };
}
