import { cutText } from '@gatehouse/events/cut-text';
import { AppError } from '@gatehouse/kit/errors';
import { listOf } from '@gatehouse/kit/fields';
import { messageText, tokensIn } from './message-text.ts';
import { SampleBuilder, type TextSample } from '../../usage/token-estimate.ts';

export type Operation = 'chat' | 'embeddings';

/** The fields of a client's request that the gateway needs while it is under way. */
export interface RequestHead {
  operation: Operation;
  model: string;
  stream: boolean;
  /** Whether the client asked for the usage chunk. */
  wantsUsage: boolean;
  /** How many answers it asked for (`n`). */
  choices: number;
}

/** A client's request as it is read, until it is accepted. */
export interface CompletionRequest extends RequestHead {
  /** The source text. */
  body: Buffer;
  /** The same, parsed. */
  fields: Record<string, unknown>;
}

type Kind = 'string' | 'number' | 'boolean' | 'array' | 'object';

/**
 * Types of OpenAI's request fields. Only types are checked; the provider checks values, and other fields pass through.
 */
const chatFields: Record<string, readonly Kind[]> = {
  audio: ['object'],
  frequency_penalty: ['number'],
  function_call: ['string', 'object'],
  functions: ['array'],
  logit_bias: ['object'],
  logprobs: ['boolean'],
  max_completion_tokens: ['number'],
  max_tokens: ['number'],
  metadata: ['object'],
  modalities: ['array'],
  n: ['number'],
  parallel_tool_calls: ['boolean'],
  prediction: ['object'],
  presence_penalty: ['number'],
  reasoning_effort: ['string'],
  response_format: ['object'],
  seed: ['number'],
  service_tier: ['string'],
  stop: ['string', 'array'],
  store: ['boolean'],
  stream: ['boolean'],
  stream_options: ['object'],
  temperature: ['number'],
  tool_choice: ['string', 'object'],
  tools: ['array'],
  top_logprobs: ['number'],
  top_p: ['number'],
  user: ['string'],
};

const embeddingFields: Record<string, readonly Kind[]> = {
  dimensions: ['number'],
  encoding_format: ['string'],
  user: ['string'],
};

/** More than any provider gives. */
const maxChoices = 1e9;

/** Reads a chat completion request. Throws 400s that name the field. */
export function readChatRequest(body: Buffer, parsed: unknown): CompletionRequest {
  const fields = objectOf(parsed);
  const model = modelOf(fields);
  checkTypes(fields, chatFields);
  checkMessages(fields['messages']);
  const options = fields['stream_options'] as { include_usage?: unknown } | null | undefined;
  return {
    operation: 'chat',
    body,
    fields,
    model,
    stream: fields['stream'] === true,
    wantsUsage: options?.include_usage === true,
    // JSON's 1e999 is Infinity.
    choices: typeof fields['n'] === 'number' ? Math.min(maxChoices, Math.max(1, fields['n'])) : 1,
  };
}

/** Reads an embeddings request. Throws 400s that name the field. */
export function readEmbeddingsRequest(body: Buffer, parsed: unknown): CompletionRequest {
  const fields = objectOf(parsed);
  const model = modelOf(fields);
  checkTypes(fields, embeddingFields);
  const { input } = fields;
  if (input === undefined) throw missing('input');
  if (typeof input !== 'string' && !Array.isArray(input)) throw wrongType('input', ['string', 'array']);
  if (input.length === 0) throw new AppError('invalid_value', 'input must not be empty.', { param: 'input' });
  return { operation: 'embeddings', body, fields, model, stream: false, wantsUsage: false, choices: 1 };
}

function objectOf(parsed: unknown): Record<string, unknown> {
  if (kindOf(parsed) !== 'object')
    throw new AppError('invalid_type', 'The request body must be a JSON object.');
  return parsed as Record<string, unknown>;
}

function modelOf(fields: Record<string, unknown>): string {
  const { model } = fields;
  if (model === undefined) throw missing('model');
  if (typeof model !== 'string') throw wrongType('model', ['string']);
  if (model === '') throw new AppError('invalid_value', 'model must not be empty.', { param: 'model' });
  return model;
}

function checkTypes(fields: Record<string, unknown>, known: Record<string, readonly Kind[]>): void {
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    const kinds = Object.hasOwn(known, name) ? known[name] : undefined;
    if (kinds === undefined) refuseVariant(name, known);
    // OpenAI takes null for any optional field.
    if (kinds === undefined || value === null) continue;
    const kind = kindOf(value);
    if (kind === null || !kinds.includes(kind)) throw wrongType(name, kinds);
  }
}

/**
 * Servers that read field names in any case (Go's encoding/json does) would take `Model` for the model, and the gateway
 * has checked and priced another one.
 */
function refuseVariant(name: string, known: Record<string, unknown>): void {
  const plain = name.toUpperCase().toLowerCase();
  if (plain === name || !(Object.hasOwn(known, plain) || decisive.has(plain))) return;
  const param = name.slice(0, 200);
  throw new AppError('unknown_parameter', `Unknown field: ${param}. Did you mean ${plain}?`, { param });
}

/** Fields that are checked by themselves. */
const decisive = new Set(['model', 'messages', 'input']);

function checkMessages(messages: unknown): void {
  if (messages === undefined) throw missing('messages');
  if (!Array.isArray(messages)) throw wrongType('messages', ['array']);
  if (messages.length === 0)
    throw new AppError('invalid_value', 'messages must not be empty.', { param: 'messages' });
  for (const [index, message] of messages.entries()) {
    if (kindOf(message) !== 'object') throw wrongType(`messages[${index}]`, ['object']);
    const { role, content } = message as Record<string, unknown>;
    if (role === undefined) throw missing(`messages[${index}].role`);
    if (typeof role !== 'string') throw wrongType(`messages[${index}].role`, ['string']);
    const kind = kindOf(content);
    if (content !== undefined && content !== null && kind !== 'string' && kind !== 'array') {
      throw wrongType(`messages[${index}].content`, ['string', 'array']);
    }
  }
}

function kindOf(value: unknown): Kind | null {
  if (Array.isArray(value)) return 'array';
  if (value === null) return null;
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' || type === 'object' ? type : null;
}

function missing(param: string): AppError {
  return new AppError('missing_required_parameter', `Missing required field: ${param}.`, { param });
}

function wrongType(param: string, kinds: readonly Kind[]): AppError {
  return new AppError('invalid_type', `Invalid type for ${param}: expected ${kinds.join(' or ')}.`, {
    param,
  });
}

/** The text of the newest user message or embedding input, at most `maxChars`, for previews. */
export function inputPreview(request: CompletionRequest, maxChars: number): string {
  const source =
    request.operation === 'chat' ? lastUserMessage(request.fields['messages']) : request.fields['input'];
  return cutText(textOf(source), maxChars);
}

/** The newest message of the user: its index, and the text of its parts. Null if there is none with text. */
export function lastUserText({ fields }: CompletionRequest): { index: number; text: string } | null {
  const messages = fields['messages'] as { role?: unknown; content?: unknown }[];
  const index = messages.findLastIndex(({ role }) => role === 'user');
  const text = textOf(messages[index]?.content);
  return text.trim() === '' ? null : { index, text };
}

/**
 * A sample of the prompt for estimating its tokens, so that the request itself need not be kept. `added`: texts that the
 * gateway adds to the client's messages.
 */
export function promptSample(
  { operation, fields }: CompletionRequest,
  added: readonly (string | TextSample)[] = [],
): TextSample {
  const sample = new SampleBuilder();
  for (const text of added) {
    if (typeof text === 'string') sample.add(text);
    else sample.addSample(text);
  }
  if (operation === 'chat') {
    for (const message of fields['messages'] as Record<string, unknown>[]) sample.add(messageText(message));
    addDefinitions(sample, fields);
  } else {
    sample.add(textOf(fields['input']));
    sample.addTokens(tokensIn(fields['input']));
  }
  return sample.built;
}

/** Models read the definitions of tools as they read messages. Beyond the sample, the others count as these do. */
function addDefinitions(sample: SampleBuilder, { tools, functions }: Record<string, unknown>): void {
  const definitions = [tools, functions].flatMap(listOf);
  let chars = 0;
  for (const [index, definition] of definitions.entries()) {
    if (sample.isFull) {
      sample.addChars((chars / index) * (definitions.length - index));
      return;
    }
    const text = JSON.stringify(definition);
    sample.add(text);
    chars += text.length;
  }
}

function lastUserMessage(messages: unknown): unknown {
  const all = messages as { role?: unknown; content?: unknown }[];
  return (all.findLast((message) => message.role === 'user') ?? all.at(-1))?.content;
}

/** Plain text of a string, of content parts, or of a list of inputs. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  const texts = value.map((part: unknown) => {
    if (typeof part === 'string') return part;
    const text = (part as { text?: unknown } | null)?.text;
    return typeof text === 'string' ? text : '';
  });
  return texts.filter((text) => text !== '').join('\n');
}
