import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import type { CompletionRequest, Operation } from '../dialect.ts';
import { choicesIn } from './asked.ts';
import { OpenAiRequest } from './openai-request.ts';

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

/** See `RequestFormat`. */
export function readRequest(operation: Operation, body: Buffer, parsed: unknown): CompletionRequest {
  const fields = objectOf(parsed);
  return operation === 'chat' ? chatRequest(body, fields) : embeddingsRequest(body, fields);
}

function chatRequest(body: Buffer, fields: Fields): OpenAiRequest {
  const model = modelOf(fields);
  checkTypes(fields, chatFields);
  checkMessages(fields['messages']);
  const options = fields['stream_options'] as { include_usage?: unknown } | null | undefined;
  return new OpenAiRequest(body, fields, {
    ...{ operation: 'chat', model },
    stream: fields['stream'] === true,
    wantsUsage: options?.include_usage === true,
    choices: choicesIn(fields, {}),
  });
}

function embeddingsRequest(body: Buffer, fields: Fields): OpenAiRequest {
  const model = modelOf(fields);
  checkTypes(fields, embeddingFields);
  const { input } = fields;
  if (input === undefined) throw missing('input');
  if (typeof input !== 'string' && !Array.isArray(input)) throw wrongType('input', ['string', 'array']);
  if (input.length === 0) throw new AppError('invalid_value', 'input must not be empty.', { param: 'input' });
  const head = { operation: 'embeddings', model, stream: false, wantsUsage: false, choices: 1 } as const;
  return new OpenAiRequest(body, fields, head);
}

function objectOf(parsed: unknown): Fields {
  if (kindOf(parsed) !== 'object')
    throw new AppError('invalid_type', 'The request body must be a JSON object.');
  return parsed as Fields;
}

function modelOf(fields: Fields): string {
  const { model } = fields;
  if (model === undefined) throw missing('model');
  if (typeof model !== 'string') throw wrongType('model', ['string']);
  if (model === '') throw new AppError('invalid_value', 'model must not be empty.', { param: 'model' });
  return model;
}

function checkTypes(fields: Fields, known: Record<string, readonly Kind[]>): void {
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
function refuseVariant(name: string, known: Fields): void {
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
    const { role, content } = message as Fields;
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
