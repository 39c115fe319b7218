import { AppError } from '@gatehouse/kit/errors';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { maxMixedItems } from '../bounds.ts';

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

/** Names of the fields that a body written as chat no longer has. */
export function droppedFrom(fields: Fields, written: Fields): string[] {
  return withoutPlace.filter((name) => (fields[name] ?? null) !== null && !Object.hasOwn(written, name));
}

/** The same request as chat. Throws a 400 for what chat has no form for. */
export function asChat(fields: Fields): Fields {
  const { tools, tool_choice: choice, ...others } = fields;
  const messages = new Messages();
  if ((fields['messages'] ?? null) === null) addInput(messages, fields);
  else for (const message of listOf(fields['messages'])) messages.add(message, 'messages');
  return {
    ...((fields['messages'] ?? null) === null ? chatFields(others) : others),
    messages: messages.list,
    ...(tools !== undefined && { tools: Array.isArray(tools) ? tools.map(toolOf) : tools }),
    ...(choice !== undefined && { tool_choice: choiceOf(choice) }),
  };
}

function addInput(messages: Messages, { instructions, input }: Fields): void {
  if (typeof instructions === 'string' && instructions !== '')
    messages.list.push({ role: 'system', content: instructions });
  if (typeof input === 'string') messages.list.push({ role: 'user', content: input });
  else for (const item of listOf(input)) messages.add(item, 'input');
}

function chatFields(fields: Fields): Fields {
  for (const name of unfollowed) if ((fields[name] ?? null) !== null) throw unsupported(name);
  if (fields['background'] === true) throw unsupported('background');
  const left = new Set<string>([...withoutPlace, ...unfollowed, ...renamed, 'background']);
  const { reasoning, text, max_output_tokens: maxTokens } = fields;
  const { effort } = membersOf(reasoning);
  const { format, verbosity } = membersOf(text);
  return {
    ...Object.fromEntries(Object.entries(fields).filter(([name]) => !left.has(name))),
    ...(typeof maxTokens === 'number' && { max_completion_tokens: maxTokens }),
    ...(typeof effort === 'string' && { reasoning_effort: effort }),
    ...(isFields(format) && { response_format: formatOf(format) }),
    ...(typeof verbosity === 'string' && { verbosity }),
  };
}

const renamed = ['input', 'instructions', 'messages', 'max_output_tokens', 'reasoning', 'text'] as const;

function formatOf({ type, ...schema }: Fields): Fields {
  return type === 'json_schema' ? { type, json_schema: schema } : { type };
}

/** Whether a tool has the form of responses or of Anthropic's messages. */
function isFlat(tool: unknown): boolean {
  if (!isFields(tool) || typeof tool['name'] !== 'string') return false;
  const { type = 'function', function: nested, custom } = tool;
  return (type === 'function' || type === 'custom') && nested === undefined && custom === undefined;
}

function toolOf(tool: unknown): unknown {
  if (!isFields(tool) || !isFlat(tool)) return tool;
  const { type = 'function', name, description, parameters, input_schema: schema, strict, format } = tool;
  const named = { name, ...(description !== undefined && { description }) };
  if (type === 'custom') return { type, custom: { ...named, ...(isFields(format) && customFormat(format)) } };
  return {
    type,
    function: {
      ...named,
      ...((parameters ?? schema) !== undefined && { parameters: parameters ?? schema }),
      ...(strict !== undefined && { strict }),
    },
  };
}

function customFormat({ type, ...grammar }: Fields): Fields {
  return { format: type === 'grammar' ? { type, grammar } : { type } };
}

const choicesOfAnthropic: Readonly<Record<string, string>> = { auto: 'auto', none: 'none', any: 'required' };

function choiceOf(choice: unknown): unknown {
  const { type, name, mode, tools } = membersOf(choice);
  if (typeof type === 'string' && Object.hasOwn(choicesOfAnthropic, type)) return choicesOfAnthropic[type];
  if (type === 'allowed_tools' && tools !== undefined)
    return { type, allowed_tools: { mode, tools: listOf(tools).map(choiceOf) } };
  if (typeof name !== 'string') return choice;
  return type === 'custom' ? { type, custom: { name } } : { type: 'function', function: { name } };
}

/** The messages of chat for those of another API, in their order. */
class Messages {
  readonly list: Fields[] = [];
  /** The last list of calls made here: copying it for each call would take the square of their number. */
  #calls: unknown[] = [];
  #items = 0;

  add(item: unknown, param: string): void {
    const { type = 'message' } = this.#counted(item, param);
    if (!isFields(item)) this.list.push(item as Fields);
    else if (type === 'message') this.#addMessage(item, param);
    else if (type === 'function_call')
      this.#addCall(callOf(item['call_id'] ?? item['id'], item['name'], item['arguments']));
    else if (type === 'custom_tool_call')
      this.#addCall({
        id: item['call_id'],
        type: 'custom',
        custom: { name: item['name'], input: item['input'] },
      });
    else if (type === 'function_call_output' || type === 'custom_tool_call_output')
      this.#addResult(item['call_id'], item['output'], param);
    else if (type !== 'reasoning') throw unsupported(`${param}.type`);
  }

  #addMessage(message: Fields, param: string): void {
    const { type: _type, id: _id, status: _status, phase: _phase, content, ...others } = message;
    if (!Array.isArray(content)) {
      this.list.push({ ...others, ...(content !== undefined && { content }) });
      return;
    }
    const [calls, parts]: [Fields[], unknown[]] = [[], []];
    for (const part of content) {
      const { type, id, name, input } = this.#counted(part, param);
      if (type === 'tool_use') calls.push(callOf(id, name, JSON.stringify(input ?? {})));
      else if (type === 'tool_result')
        this.#addResult(membersOf(part)['tool_use_id'], membersOf(part)['content'], param);
      else if (type !== 'thinking' && type !== 'redacted_thinking') parts.push(partOf(part));
    }
    if (parts.length > 0 || content.length === 0) this.list.push({ ...others, content: parts });
    for (const call of calls) this.#addCall(call);
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

  #addResult(id: unknown, output: unknown, param: string): void {
    const parts = listOf(output).map((part) => {
      this.#counted(part, param);
      return partOf(part);
    });
    this.list.push({
      role: 'tool',
      tool_call_id: id,
      content: Array.isArray(output) ? parts : (output ?? ''),
    });
  }

  #counted(item: unknown, param: string): Fields {
    this.#items += 1;
    if (this.#items <= maxMixedItems) return membersOf(item);
    throw new AppError('invalid_value', `${param} must have at most ${maxMixedItems} items and parts.`, {
      param,
    });
  }
}

function callOf(id: unknown, name: unknown, args: unknown): Fields {
  return { id, type: 'function', function: { name, arguments: typeof args === 'string' ? args : '{}' } };
}

/** A part of a content; those that chat has in this form, and unknown ones, as they are. */
function partOf(part: unknown): unknown {
  const { type, text, image_url: url, detail, source, cache_control: cache, ...file } = membersOf(part);
  switch (type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text, ...(cache !== undefined && { cache_control: cache }) };
    case 'input_image':
      if (typeof url !== 'string') return isFields(url) ? { type: 'image_url', image_url: url } : part;
      return { type: 'image_url', image_url: { url, ...(detail !== undefined && { detail }) } };
    case 'input_file':
      return { type: 'file', file };
    case 'image':
      return { type: 'image_url', image_url: { url: urlOf(membersOf(source)) } };
    default:
      return part;
  }
}

function urlOf({ url, media_type: mediaType, data }: Fields): unknown {
  return typeof data === 'string' ? `data:${String(mediaType)};base64,${data}` : url;
}

function membersOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

function unsupported(param: string): AppError {
  const message = `${param} has no place in chat completions: use POST /v1/responses.`;
  return new AppError('unsupported_parameter', message, { param });
}
