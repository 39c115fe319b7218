import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { Conversation, OutputFormat, Reasoning, Tool, ToolChoice } from '../conversation.ts';
import { efforts, type Effort } from '../conversation.ts';
import { booleanIn, numberIn, textIn, textsIn } from '../fields.ts';
import type { JsonSource } from '../json-text.ts';
import type { FieldNames, LeftOut } from '../left-out.ts';
import type { Steps } from '../steps.ts';
import { freeformText } from '../tool-names.ts';
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
  reasoning: 'reasoning_effort',
  strict: 'tools.strict',
  tools: 'tools',
};

/** Fields that are translated. All others are hints, but for those that are refused. */
const translated = new Set([
  ...['model', 'messages', 'max_tokens', 'max_completion_tokens', 'stop', 'stream', 'stream_options'],
  ...['temperature', 'top_p', 'top_k', 'seed', 'presence_penalty', 'frequency_penalty', 'tools', 'functions'],
  ...['tool_choice', 'function_call', 'parallel_tool_calls', 'response_format', 'reasoning_effort'],
  ...['reasoning', 'thinking', 'n', 'logprobs', 'logit_bias', 'modalities'],
]);

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
export function* readRequest(fields: Fields, source: JsonSource, left: LeftOut): Steps<Conversation> {
  for (const [name, value] of Object.entries(fields)) {
    if (value === null) continue;
    const isHarmless = Object.hasOwn(harmless, name) ? harmless[name] : undefined;
    if (isHarmless?.(value) === false) throw left.refused(name);
    if (isHarmless === undefined && !translated.has(name)) left.ignore(name);
  }
  const { choice, allowed } = choiceOf(fields['tool_choice'] ?? fields['function_call']);
  const turns = yield* readTurns(fields['messages'], left);
  const tools = yield* toolsOf(fields, source, left);
  return {
    turns,
    tools: tools.filter(({ name }) => allowed?.has(name) !== false),
    choice,
    parallel: booleanIn(fields['parallel_tool_calls']),
    maxTokens: numberIn(fields['max_completion_tokens']) ?? numberIn(fields['max_tokens']),
    stop: textsIn(fields['stop']),
    sampling: {
      temperature: numberIn(fields['temperature']),
      topP: numberIn(fields['top_p']),
      topK: numberIn(fields['top_k']),
      seed: numberIn(fields['seed']),
      presencePenalty: numberIn(fields['presence_penalty']),
      frequencyPenalty: numberIn(fields['frequency_penalty']),
    },
    output: outputOf(fields['response_format'], source, left),
    reasoning: reasoningOf(fields),
    stream: fields['stream'] === true,
  };
}

/** `functions` is OpenAI's name before `tools`. */
function* toolsOf(fields: Fields, source: JsonSource, left: LeftOut): Steps<Tool[]> {
  const tools: Tool[] = [];
  for (const [index, tool] of listOf(fields['tools']).entries()) {
    tools.push(toolOf(tool, source.member('tools')?.element(index) ?? null, { at: `tools[${index}]`, left }));
    yield;
  }
  for (const [index, called] of listOf(fields['functions']).entries()) {
    tools.push(functionOf(Object(called) as Fields, source.member('functions')?.element(index) ?? null));
    yield;
  }
  return tools;
}

function toolOf(tool: unknown, source: JsonSource | null, { at, left }: { at: string; left: LeftOut }): Tool {
  const { type = 'function', function: called, custom } = Object(tool) as Fields;
  if (type === 'function') return functionOf(Object(called) as Fields, source?.member('function') ?? null);
  if (type === 'custom') return freeformOf(Object(custom) as Fields);
  throw left.refused(`${at}.type`, `The model has no tool of the type ${String(type).slice(0, 64)}.`);
}

function functionOf({ name, description, parameters, strict }: Fields, source: JsonSource | null): Tool {
  return {
    name: textIn(name) ?? '',
    namespace: null,
    description: textIn(description),
    schemaJson: isFields(parameters) ? (source?.textOf('parameters') ?? null) : null,
    isFreeform: false,
    isStrict: booleanIn(strict),
  };
}

function freeformOf({ name, description, format }: Fields): Tool {
  return {
    ...{ name: textIn(name) ?? '', namespace: null, description: freeformText(description, format) },
    ...{ schemaJson: null, isFreeform: true, isStrict: null },
  };
}

/** `allowed`: names of the tools that may be called, where not all may. */
function choiceOf(choice: unknown): { choice: ToolChoice | null; allowed: ReadonlySet<string> | null } {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { choice, allowed: null };
  if (!isFields(choice)) return { choice: null, allowed: null };
  const { type, function: called, custom, allowed_tools: allowed, name } = choice;
  if (type === 'allowed_tools') {
    const { mode, tools } = Object(allowed) as Fields;
    const names = listOf(tools).map((tool) => nameIn(tool) ?? '');
    return { choice: mode === 'required' ? 'required' : 'auto', allowed: new Set(names) };
  }
  const named = nameIn({ function: called, custom, name });
  return { choice: named === null ? null : { name: named, namespace: null }, allowed: null };
}

function nameIn(tool: unknown): string | null {
  const { function: called, custom, name } = Object(tool) as Fields;
  return textIn((Object(called ?? custom) as Fields)['name'] ?? name);
}

function outputOf(format: unknown, source: JsonSource, left: LeftOut): OutputFormat | null {
  const { type, json_schema: given } = Object(format) as Fields;
  if (type === undefined || type === 'text') return null;
  if (type === 'json_object') return { kind: 'json' };
  const schemaJson = source.member('response_format')?.member('json_schema')?.textOf('schema');
  if (type !== 'json_schema' || typeof schemaJson !== 'string') throw left.refused('response_format.type');
  const { name, strict } = Object(given) as Fields;
  return { kind: 'schema', name: textIn(name), schemaJson, isStrict: booleanIn(strict) };
}

/** Some clients send the members of other servers: a budget in `reasoning` or `thinking`. */
function reasoningOf(fields: Fields): Reasoning | null {
  const { effort: nested, max_tokens: most } = Object(fields['reasoning']) as Fields;
  const { type, budget_tokens: budget } = Object(fields['thinking']) as Fields;
  const effort = fields['reasoning_effort'] ?? nested;
  const isEffort = efforts.includes(effort as Effort);
  const tokens = numberIn(budget) ?? numberIn(most);
  if (!isEffort && tokens === null && type === undefined) return null;
  return {
    isOn: type !== 'disabled' && effort !== 'none',
    effort: isEffort ? (effort as Effort) : null,
    budget: tokens,
  };
}
