import { AppError } from '@gatehouse/kit/errors';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { maxMixedItems, maxMixedWords } from '../bounds.ts';
import { cacheHint } from '../translation/cache-points.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { hostedParts } from '../translation/hosted-history.ts';
import { RawJson, writeJson, type JsonSource } from '../wire/json-text.ts';
import { documentParts, hintOf, membersOf, partOf, textPart } from './mixed-parts.ts';

/**
 * Bodies of other APIs at chat completions. Cursor sends there `input`, `instructions` and flat tools of OpenAI's
 * responses, and with Claude tools and parts of Anthropic's messages (https://github.com/maximhq/bifrost/issues/5773,
 * https://github.com/Helicone/helicone/issues/5629).
 */

/** Fields of responses without a place, and without effect, in chat. */
const withoutPlace = ['include', 'store', 'truncation', 'max_tool_calls'] as const;
/** Fields of responses that chat can't follow. */
const unfollowed = ['previous_response_id', 'conversation', 'prompt'] as const;

/** Whether a body has the turns or the tools of another API. */
export function isMixed({ messages, input, tools }: Fields): boolean {
  const hasInput = typeof input === 'string' || Array.isArray(input);
  return ((messages ?? null) === null && hasInput) || listOf(tools).some(isFlat);
}

/** The same request as chat: its fields, and its text, in which numbers and schemas are as the client wrote them. */
export interface AsChat {
  fields: Fields;
  text: string;
}

/** `source`: the body. Notes what is left out in `dropped`. Throws a 400 for what chat has no form for. */
export function asChat(fields: Fields, source: JsonSource, dropped: DroppedFields): AsChat {
  const isInput = (fields['messages'] ?? null) === null;
  const param = isInput ? 'input' : 'messages';
  const messages = new Messages(source.member(param), { param, dropped });
  if (isInput) addInput(messages, fields);
  else for (const [index, message] of listOf(fields['messages']).entries()) messages.add(message, index);
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = fields;
  const isOneByOne = parallel === undefined && membersOf(choice)['disable_parallel_tool_use'] === true;
  const made = {
    messages: messages.list,
    ...(choice !== undefined && { tool_choice: choiceOf(choice, functionsIn(tools)) }),
    ...(isOneByOne && { parallel_tool_calls: false }),
  };
  const texts = Object.entries(made).map(([name, value]): [string, RawJson] => [
    name,
    new RawJson(JSON.stringify(value)),
  ]);
  const from = exactFields(fields, source);
  const text = writeJson({
    ...(isInput ? chatFields(from, dropped) : from),
    ...(Array.isArray(tools) && { tools: listOf(from['tools']).map((tool) => toolOf(tool, dropped)) }),
    ...Object.fromEntries(texts),
  });
  return { fields: JSON.parse(text) as Fields, text };
}

function addInput(messages: Messages, { instructions, input }: Fields): void {
  if (typeof instructions === 'string' && instructions !== '')
    messages.list.push({ role: 'system', content: instructions });
  if (typeof input === 'string') messages.list.push({ role: 'user', content: input });
  else for (const [index, item] of listOf(input).entries()) messages.add(item, index);
}

/** The fields of a body with the values that pass through as they stand in its text. */
function exactFields(fields: Fields, source: JsonSource): Fields {
  const { tools, text, ...others } = fields;
  const { format } = membersOf(text);
  const formatSource = source.member('text')?.member('format') ?? null;
  return {
    ...exact(others, source, renamed),
    ...(tools !== undefined && {
      tools: Array.isArray(tools)
        ? listOf(tools).map((tool, index) => exactTool(tool, source.member('tools')?.element(index) ?? null))
        : tools,
    }),
    ...(text !== undefined && {
      text: isFields(format) ? { ...membersOf(text), format: exact(format, formatSource) } : text,
    }),
  };
}

function exactTool(tool: unknown, source: JsonSource | null): unknown {
  if (!isFields(tool)) return tool;
  const { format, ...others } = tool;
  return {
    ...exact(others, source),
    ...(format !== undefined && {
      format: isFields(format) ? exact(format, source?.member('format') ?? null) : format,
    }),
  };
}

/** Members with their texts in place of numbers, lists and objects, but for those to be read. */
function exact(fields: Fields, source: JsonSource | null, read: ReadonlySet<string> = new Set()): Fields {
  const members = Object.entries(fields).map(([name, value]): [string, unknown] => {
    const isKept = read.has(name) || value === null || !['number', 'object'].includes(typeof value);
    const text = isKept ? null : (source?.textOf(name) ?? null);
    return [name, text === null ? value : new RawJson(text)];
  });
  return Object.fromEntries(members);
}

function chatFields(fields: Fields, dropped: DroppedFields): Fields {
  for (const name of unfollowed) if ((fields[name] ?? null) !== null) throw unsupported(name);
  if (fields['background'] === true) throw unsupported('background');
  for (const name of withoutPlace) if ((fields[name] ?? null) !== null) dropped.ignore(name);
  const left = new Set<string>([...withoutPlace, ...unfollowed, ...renamed, 'background']);
  const { max_output_tokens: maxTokens } = fields;
  const { effort } = dropped.members(fields['reasoning'] ?? {}, 'reasoning', ['effort']);
  const { format, verbosity } = dropped.members(fields['text'] ?? {}, 'text', ['format', 'verbosity']);
  return {
    ...Object.fromEntries(Object.entries(fields).filter(([name]) => !left.has(name))),
    ...(typeof maxTokens === 'number' && { max_completion_tokens: maxTokens }),
    ...(typeof effort === 'string' && { reasoning_effort: effort }),
    ...(isFields(format) && { response_format: formatOf(format) }),
    ...(typeof verbosity === 'string' && { verbosity }),
  };
}

/** Fields of responses under another name in chat. */
const renamed: ReadonlySet<string> = new Set([
  ...['input', 'instructions', 'messages', 'max_output_tokens', 'reasoning', 'text'],
]);

function formatOf({ type, ...schema }: Fields): Fields {
  return type === 'json_schema' ? { type, json_schema: schema } : { type };
}

/** Whether a tool has the form of responses or of Anthropic's messages. */
function isFlat(tool: unknown): tool is Fields {
  if (!isFields(tool) || typeof tool['name'] !== 'string') return false;
  const { type = 'function', function: nested, custom } = tool;
  return (type === 'function' || type === 'custom') && nested === undefined && custom === undefined;
}

/** Whether a flat tool has arguments: Anthropic's tools may have the type `custom`, which is freeform in responses. */
function hasSchema({ parameters, input_schema: schema }: Fields): boolean {
  return (parameters ?? schema ?? null) !== null;
}

/** Names of the flat tools of the type `custom` that are functions in chat. */
function functionsIn(tools: unknown): ReadonlySet<unknown> {
  const custom = listOf(tools)
    .filter(isFlat)
    .filter(({ type }) => type === 'custom');
  return new Set(custom.filter(hasSchema).map(({ name }) => name));
}

const flatMembers = [
  ...(['type', 'name', 'description', 'parameters', 'input_schema', 'strict', 'format', cacheHint] as const),
];

function toolOf(tool: unknown, dropped: DroppedFields): unknown {
  if (!isFlat(tool)) return tool;
  const flat = dropped.members(tool, 'tools', flatMembers);
  const { type = 'function', name, description, parameters, input_schema: schema, strict, format } = flat;
  const named = { name, ...(description !== undefined && { description }) };
  if (type === 'custom' && !hasSchema(flat))
    return { type, custom: { ...named, ...(isFields(format) && customFormat(format)) }, ...hintOf(flat) };
  return {
    type: 'function',
    function: {
      ...named,
      ...(hasSchema(flat) && { parameters: parameters ?? schema }),
      ...(strict !== undefined && { strict }),
    },
    ...hintOf(flat),
  };
}

function customFormat({ type, ...grammar }: Fields): Fields {
  return { format: type === 'grammar' ? { type, grammar } : { type } };
}

const choicesOfAnthropic: Readonly<Record<string, string>> = { auto: 'auto', none: 'none', any: 'required' };

/** `functions`: see `functionsIn`. */
function choiceOf(choice: unknown, functions: ReadonlySet<unknown>): unknown {
  const { type, name, mode, tools } = membersOf(choice);
  if (typeof type === 'string' && Object.hasOwn(choicesOfAnthropic, type)) return choicesOfAnthropic[type];
  if (type === 'allowed_tools' && tools !== undefined)
    return { type, allowed_tools: { mode, tools: listOf(tools).map((tool) => choiceOf(tool, functions)) } };
  if (typeof name !== 'string') return choice;
  const isFreeform = type === 'custom' && !functions.has(name);
  return isFreeform ? { type, custom: { name } } : { type: 'function', function: { name } };
}

/** The messages of chat for those of another API, in their order. */
class Messages {
  readonly list: Fields[] = [];
  /** The last list of calls made here: copying it for each call would take the square of their number. */
  #calls: unknown[] = [];
  readonly #source: JsonSource | null;
  readonly #dropped: DroppedFields;
  readonly #param: string;
  readonly #words = { left: maxMixedWords };
  #items = 0;

  /** `source`: the list of the client, with the name `param`. */
  constructor(source: JsonSource | null, { param, dropped }: { param: string; dropped: DroppedFields }) {
    this.#source = source;
    this.#param = param;
    this.#dropped = dropped;
  }

  add(item: unknown, index: number): void {
    const { type = 'message' } = this.#counted(item);
    const source = (): JsonSource | null => this.#source?.element(index) ?? null;
    if (!isFields(item)) this.list.push(item as Fields);
    else if (type === 'message') this.#addMessage(item, source);
    else if (type === 'function_call') {
      const args = argumentsOf(item, 'arguments', source);
      this.#addCall(callOf(item['call_id'] ?? item['id'], item['name'], args));
      this.#mark(item);
    } else if (type === 'custom_tool_call') {
      const custom = { name: item['name'], input: item['input'] };
      this.#addCall({ id: item['call_id'], type: 'custom', custom });
      this.#mark(item);
    } else if (type === 'function_call_output' || type === 'custom_tool_call_output')
      this.#addResult(item, item['call_id'], item['output']);
    else if (type === 'reasoning') this.#dropped.ignore(`${this.#param}.reasoning`);
    else this.#addHosted(item, type);
  }

  /** An item of a provider's tool in the history, or an unknown one. */
  #addHosted(item: Fields, type: unknown): void {
    if (typeof type !== 'string' || instructing.has(type)) throw unsupported(`${this.#param}.type`);
    const parts = this.#hosted(item, type, type);
    const last = this.list.at(-1);
    const isOfClient = /_(?:output|response)$/.test(type);
    if (parts.length === 0) return;
    // A message between calls and their results would part them.
    if (last?.['role'] !== 'assistant' || (isOfClient && last['tool_calls'] === undefined))
      this.list.push({ role: isOfClient ? 'user' : 'assistant', content: parts });
    else if (Array.isArray(last['content'])) last['content'].push(...parts);
    else {
      const before = typeof last['content'] === 'string' ? [textPart(last['content'])] : [];
      last['content'] = [...before, ...parts];
    }
  }

  #hosted(item: unknown, type: string, name: string): Fields[] {
    const place = { type, name: `${this.#param}.${name}`, values: this.#words };
    return hostedParts(item, place, this.#dropped).map(({ text }) => textPart(text));
  }

  #addMessage(message: Fields, source: () => JsonSource | null): void {
    const { type: _type, id: _id, status: _status, phase, content, ...others } = message;
    if (phase !== undefined) this.#dropped.ignore(`${this.#param}.phase`);
    if (!Array.isArray(content)) {
      this.list.push({ ...others, ...(content !== undefined && { content }) });
      return;
    }
    const calls: Fields[] = [];
    const parts: unknown[] = [];
    for (const [index, part] of content.entries()) {
      const block = this.#counted(part);
      const { type, id, name } = block;
      const blockSource = (): JsonSource | null => source()?.member('content')?.element(index) ?? null;
      if (type === 'tool_use')
        calls.push({ ...callOf(id, name, argumentsOf(block, 'input', blockSource)), ...hintOf(block) });
      else if (type === 'tool_result') this.#addResult(block, block['tool_use_id'], block['content']);
      else parts.push(...this.#partsOf(part));
    }
    const isFilled = parts.length > 0 || content.length === 0;
    const chatCalls = listOf(others['tool_calls']);
    const hasCalls = calls.length + chatCalls.length > 0 || isFields(others['function_call']);
    // A message of calls alone joins the one before it, unless it has more to it, as calls of chat.
    if (isFilled || (hasCalls && Object.keys(others).length > 1))
      this.list.push({ ...others, content: isFilled ? parts : null });
    const ids = new Set(chatCalls.map((call) => membersOf(call)['id']));
    for (const { [cacheHint]: hint, ...call } of calls) {
      if (!ids.has(call['id'])) this.#addCall(call);
      this.#mark({ [cacheHint]: hint });
    }
  }

  /** A cache hint of a call, which has its place at the message. */
  #mark(called: Fields): void {
    const last = this.list.at(-1);
    if (last !== undefined && called[cacheHint] !== undefined) Object.assign(last, hintOf(called));
  }

  /** A part of a content as chat has it; thoughts are left out. */
  #partsOf(part: unknown): unknown[] {
    const { type } = membersOf(part);
    if (typeof type !== 'string') return [part];
    if (type === 'thinking' || type === 'redacted_thinking')
      this.#dropped.ignore(`${this.#param}.content.thinking`);
    else if (type === 'document') return documentParts(membersOf(part), (each) => this.#innerParts(each));
    else if (hostedBlocks.test(type)) return this.#hosted(part, type, `content.${type}`);
    else return [partOf(part)];
    return [];
  }

  /** The parts of a document, which holds none. */
  #innerParts(part: unknown): unknown[] {
    return this.#counted(part)['type'] === 'document' ? [part] : this.#partsOf(part);
  }

  /** Calls of one turn are in one message. */
  #addCall(call: Fields): void {
    let last = this.list.at(-1);
    if (last?.['role'] !== 'assistant') {
      last = { role: 'assistant', content: null };
      this.list.push(last);
    }
    if (last['tool_calls'] !== this.#calls) {
      this.#calls = [...listOf(last['tool_calls'])];
      last['tool_calls'] = this.#calls;
    }
    this.#calls.push(call);
  }

  /** `item`: the result of a call. An error has no place but in its text. */
  #addResult(item: Fields, id: unknown, output: unknown): void {
    const isError = item['is_error'] === true;
    const parts = listOf(output).flatMap((part) => {
      this.#counted(part);
      return this.#partsOf(part);
    });
    const text = output ?? '';
    this.list.push({
      role: 'tool',
      tool_call_id: id,
      ...(Array.isArray(output)
        ? { content: isError ? [textPart('Error: '), ...parts] : parts }
        : { content: isError && typeof text === 'string' ? `Error: ${text}` : text }),
      ...hintOf(item),
    });
  }

  #counted(item: unknown): Fields {
    this.#items += 1;
    if (this.#items <= maxMixedItems) return membersOf(item);
    const param = this.#param;
    throw new AppError('invalid_value', `${param} must have at most ${maxMixedItems} items and parts.`, {
      param,
    });
  }
}

/** Items that ask for something, for the model or the gateway to follow. */
const instructing: ReadonlySet<string> = new Set(['additional_tools', 'compaction_trigger']);

/** Blocks that Anthropic's own tools leave in the history. */
const hostedBlocks = /_tool_(?:use|result)$|^(?:tool_reference|container_upload|compaction|search_result)$/;

/** The arguments of a call as a text. An object is as the client wrote it. */
function argumentsOf(call: Fields, name: string, source: () => JsonSource | null): string {
  const args = call[name] ?? null;
  if (typeof args === 'string') return args;
  return args === null ? '{}' : (source()?.textOf(name) ?? '{}');
}

function callOf(id: unknown, name: unknown, args: string): Fields {
  return { id, type: 'function', function: { name, arguments: args } };
}

function unsupported(param: string): AppError {
  const message = `${param} has no place in chat completions: use POST /v1/responses.`;
  return new AppError('unsupported_parameter', message, { param });
}
