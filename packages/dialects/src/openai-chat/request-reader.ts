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
import { booleanIn, numberIn, stopIn, textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import {
  usualNames,
  type FieldNames,
  type DroppedFields,
  type Members,
} from '../translation/dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { freeformText } from '../translation/tool-names.ts';
import { readTurns } from './message-reader.ts';
import { cachePointOf, withFinalPoint } from '../translation/cache-points.ts';

export const fieldNames: FieldNames = {
  ...usualNames,
  ...{ maxTokens: 'max_completion_tokens', reasoning: 'reasoning_effort' },
};

/** Translated fields. All others are hints, but for the refused ones. */
const translated = [
  ...(['model', 'messages', 'max_tokens', 'max_completion_tokens', 'stop', 'stream'] as const),
  ...(['temperature', 'top_p', 'top_k', 'seed', 'presence_penalty', 'frequency_penalty'] as const),
  ...(['tools', 'functions', 'tool_choice', 'function_call', 'parallel_tool_calls'] as const),
  ...(['response_format', 'reasoning_effort', 'reasoning', 'thinking', 'stream_options'] as const),
];

type RequestMembers = Members<(typeof translated)[number]>;

/** Values asking for nothing, of fields with effect on the meaning of the answer. */
const harmless: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: (value) => value === 1,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  logit_bias: (value) => isFields(value) && Object.keys(value).length === 0,
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
  web_search_options: () => false,
};

/** See `ClientFormat`. */
export function* readRequest(
  request: Fields,
  source: JsonSource,
  dropped: DroppedFields,
): Steps<Conversation> {
  for (const [name, isHarmless] of Object.entries(harmless))
    if ((request[name] ?? null) !== null && !isHarmless(request[name]))
      throw dropped.unsupportedParameter(name);
  const fields = dropped.members(request, '', [...translated, ...Object.keys(harmless)]) as RequestMembers;
  const { choice, allowed } = choiceOf(fields, dropped);
  const turns = withFinalPoint(yield* readTurns(fields['messages'], dropped), request);
  const tools = yield* toolsOf(fields, source, dropped);
  return {
    turns,
    tools: tools.filter(({ name }) => allowed?.has(name) !== false),
    choice,
    parallel: booleanIn(fields['parallel_tool_calls']),
    maxTokens: numberIn(fields['max_completion_tokens']) ?? numberIn(fields['max_tokens']),
    stop: stopIn(fields['stop'], 'stop', dropped),
    sampling: {
      temperature: numberIn(fields['temperature']),
      topP: numberIn(fields['top_p']),
      topK: numberIn(fields['top_k']),
      seed: numberIn(fields['seed']),
      presencePenalty: numberIn(fields['presence_penalty']),
      frequencyPenalty: numberIn(fields['frequency_penalty']),
    },
    output: outputOf(fields['response_format'], source, dropped),
    reasoning: reasoningOf(fields, dropped),
    stream: fields['stream'] === true,
  };
}

/** `functions` is OpenAI's name before `tools`. */
function* toolsOf(fields: RequestMembers, source: JsonSource, dropped: DroppedFields): Steps<Tool[]> {
  const tools: Tool[] = [];
  for (const [index, tool] of listOf(fields['tools']).entries()) {
    tools.push(
      toolOf(tool, source.member('tools')?.element(index) ?? null, { at: `tools[${index}]`, dropped }),
    );
    yield;
  }
  for (const [index, called] of listOf(fields['functions']).entries()) {
    tools.push(functionOf(called, source.member('functions')?.element(index) ?? null, dropped));
    yield;
  }
  return tools;
}

function toolOf(
  tool: unknown,
  source: JsonSource | null,
  { at, dropped }: { at: string; dropped: DroppedFields },
): Tool {
  const names = ['type', 'function', 'custom'] as const;
  const { type = 'function', function: called, custom } = dropped.members(tool, 'tools', names);
  const point = { ...cachePointOf(called), ...cachePointOf(tool) };
  if (type === 'function')
    return { ...functionOf(called, source?.member('function') ?? null, dropped), ...point };
  if (type === 'custom') return { ...freeformOf(custom, dropped), ...point };
  throw dropped.unsupportedParameter(
    `${at}.type`,
    `The model has no tool of the type ${String(type).slice(0, 64)}.`,
  );
}

function functionOf(called: unknown, source: JsonSource | null, dropped: DroppedFields): Tool {
  const names = ['name', 'description', 'parameters', 'strict'] as const;
  const { name, description, parameters, strict } = dropped.members(called, 'tools.function', names);
  return {
    name: textOf(name),
    namespace: null,
    description: textIn(description),
    schemaJson: isFields(parameters) ? (source?.textOf('parameters') ?? null) : null,
    isFreeform: false,
    isStrict: booleanIn(strict),
  };
}

function freeformOf(custom: unknown, dropped: DroppedFields): Tool {
  const names = ['name', 'description', 'format'] as const;
  const { name, description, format } = dropped.members(custom, 'tools.custom', names);
  return {
    ...{
      name: textOf(name),
      namespace: null,
      description: freeformText(description, format, { dropped, path: 'tools.custom.format' }),
    },
    ...{ schemaJson: null, isFreeform: true, isStrict: null },
  };
}

/** `allowed`: names of the callable tools, where not all may be called. */
function choiceOf(
  { tool_choice: current, function_call: old }: RequestMembers,
  dropped: DroppedFields,
): { choice: ToolChoice | null; allowed: ReadonlySet<string> | null } {
  const choice = current ?? old ?? null;
  if (choice === null) return { choice, allowed: null };
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { choice, allowed: null };
  const names = ['type', 'function', 'custom', 'allowed_tools', 'name'] as const;
  const path = current === undefined ? 'function_call' : 'tool_choice';
  if (!isFields(choice)) throw dropped.unsupportedParameter(path);
  const {
    type,
    function: called,
    custom,
    allowed_tools: allowed,
    name,
  } = dropped.members(choice, path, names);
  if (type === 'allowed_tools') {
    const at = `${path}.allowed_tools`;
    const { mode, tools } = dropped.members(allowed ?? {}, at, ['mode', 'tools']);
    const names = listOf(tools).map((tool) => toolNameIn(tool, { at: `${at}.tools`, dropped }) ?? '');
    return { choice: mode === 'required' ? 'required' : 'auto', allowed: new Set(names) };
  }
  const named = toolNameIn({ function: called, custom, name }, { at: path, dropped });
  if (named === null) throw dropped.unsupportedParameter(`${path}.function.name`);
  return { choice: { name: named, namespace: null }, allowed: null };
}

/** The name of the tool in a choice, in the object of its type or beside it. */
function toolNameIn(tool: unknown, { at, dropped }: { at: string; dropped: DroppedFields }): string | null {
  const {
    function: called,
    custom,
    name,
  } = dropped.members(tool, at, ['type', 'function', 'custom', 'name']);
  const inside = Object.entries({ function: called, custom }).flatMap(([kind, value]) =>
    value === undefined ? [] : [dropped.members(value, `${at}.${kind}`, ['name']).name],
  );
  return textIn(inside[0] ?? name);
}

function outputOf(format: unknown, source: JsonSource, dropped: DroppedFields): OutputFormat | null {
  const path = 'response_format';
  const { type, json_schema: schema } = dropped.members(format ?? {}, path, ['type', 'json_schema']);
  if (type === undefined || type === 'text') return null;
  if (type === 'json_object') return { kind: 'json' };
  const schemaJson = source.member('response_format')?.member('json_schema')?.textOf('schema');
  if (type !== 'json_schema' || typeof schemaJson !== 'string')
    throw dropped.unsupportedParameter('response_format.type');
  const names = ['name', 'schema', 'strict'] as const;
  const { name, strict } = dropped.members(schema, `${path}.json_schema`, names);
  return { kind: 'schema', name: textIn(name), schemaJson, isStrict: booleanIn(strict) };
}

/** Some clients send the members of other servers: a budget in `reasoning` or `thinking`. */
function reasoningOf(fields: RequestMembers, dropped: DroppedFields): Reasoning | null {
  const inReasoning = ['effort', 'max_tokens'] as const;
  const inThinking = ['type', 'budget_tokens'] as const;
  const { effort: nested, max_tokens: most } = dropped.members(
    fields['reasoning'] ?? {},
    'reasoning',
    inReasoning,
  );
  const { type, budget_tokens: budget } = dropped.members(fields['thinking'] ?? {}, 'thinking', inThinking);
  const effort = fields['reasoning_effort'] ?? nested;
  const isEffort = efforts.includes(effort as Effort);
  if (effort !== undefined && !isEffort) dropped.ignore('reasoning_effort');
  const tokens = numberIn(budget) ?? numberIn(most);
  if (!isEffort && tokens === null && type === undefined) return null;
  return {
    isOn: type !== 'disabled' && effort !== 'none',
    effort: isEffort ? (effort as Effort) : null,
    budget: tokens,
  };
}
