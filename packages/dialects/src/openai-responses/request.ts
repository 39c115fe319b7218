import { AppError } from '@gatehouse/kit/errors';
import { listOf, type Fields } from '@gatehouse/kit/fields';
import type { CompletionRequest, Operation } from '../dialect.ts';
import {
  checkTypes,
  kindOf,
  missing,
  modelOf,
  objectOf,
  wrongType,
  type FieldTypes,
} from '../request-fields.ts';
import { inputItems, referenceIn, triggerType } from './items.ts';
import { ResponsesRequest } from './responses-request.ts';

/** Types of the fields of a request. Only types are checked; the provider checks values, and other fields pass through. */
const fieldTypes: FieldTypes = {
  background: ['boolean'],
  client_metadata: ['object'],
  context_management: ['array'],
  conversation: ['string', 'object'],
  include: ['array'],
  instructions: ['string', 'array'],
  max_output_tokens: ['number'],
  max_tool_calls: ['number'],
  metadata: ['object'],
  parallel_tool_calls: ['boolean'],
  previous_response_id: ['string'],
  prompt: ['object'],
  prompt_cache_key: ['string'],
  reasoning: ['object'],
  safety_identifier: ['string'],
  service_tier: ['string'],
  store: ['boolean'],
  stream: ['boolean'],
  stream_options: ['object'],
  temperature: ['number'],
  text: ['object'],
  tool_choice: ['string', 'object'],
  tools: ['array'],
  top_logprobs: ['number'],
  top_p: ['number'],
  truncation: ['string'],
  user: ['string'],
};

const decisive = ['model', 'input'];

/**
 * Fields naming data kept by the provider, and not by Gatehouse. On the platform's account it could be another
 * tenant's.
 */
const stateNames = ['conversation', 'prompt'];

/** See `RequestFormat`. */
export function readRequest(_operation: Operation, body: Buffer, parsed: unknown): CompletionRequest {
  const fields = objectOf(parsed);
  const model = modelOf(fields);
  checkTypes(fields, fieldTypes, decisive);
  refuseState(fields);
  refuseMessages(fields);
  checkInput(fields['input']);
  const compaction = inputItems(fields['input']).some(({ type }) => type === triggerType)
    ? 'item'
    : undefined;
  return new ResponsesRequest(body, fields, { model, stream: fields['stream'] === true, compaction });
}

/** Reads a request for a summary of its conversation, which may all be of earlier responses. */
export function readCompaction(body: Buffer, parsed: unknown): CompletionRequest {
  const fields = objectOf(parsed);
  const model = modelOf(fields);
  checkTypes(fields, fieldTypes, decisive);
  refuseState(fields);
  const { previous_response_id: previousId, input = null } = fields;
  const isEarlier = typeof previousId === 'string' && (input === null || listOf(input).length === 0);
  if (!isEarlier || typeof input === 'string') checkInput(input);
  return new ResponsesRequest(body, fields, { model, stream: false, compaction: 'path' });
}

function refuseState(fields: Fields): void {
  const named = stateNames.find((name) => fields[name] !== undefined && fields[name] !== null);
  if (named !== undefined) throw unsupported(named);
  if (fields['background'] === true) throw unsupported('background');
}

/** A body of chat completions at this path, in the words of OpenAI's own servers for it. */
function refuseMessages({ input = null, messages }: Fields): void {
  if (input !== null || !Array.isArray(messages)) return;
  const message =
    'Unsupported parameter: messages. Responses have it as input. Send input, or the request to POST /v1/chat/completions.';
  throw new AppError('unsupported_parameter', message, { param: 'messages' });
}

function checkInput(input: unknown): void {
  if (input === undefined || input === null) throw missing('input');
  if (typeof input === 'string') return;
  if (!Array.isArray(input)) throw wrongType('input', ['string', 'array']);
  if (input.length === 0) throw new AppError('invalid_value', 'input must not be empty.', { param: 'input' });
  for (const [index, item] of input.entries()) checkItem(item, `input[${index}]`);
}

function checkItem(item: unknown, param: string): void {
  if (kindOf(item) !== 'object') throw wrongType(param, ['object']);
  const { type, role, content } = item as Fields;
  if (type !== undefined && type !== null && typeof type !== 'string')
    throw wrongType(`${param}.type`, ['string']);
  const isNameless = type === undefined || type === null;
  if (type === 'item_reference') {
    if (referenceIn(item as Fields) === null) throw wrongType(`${param}.id`, ['string']);
    return;
  }
  if (referenceIn(item as Fields) !== null) return;
  if (!isNameless && type !== 'message') return;
  if (role === undefined) throw missing(`${param}.role`);
  if (typeof role !== 'string') throw wrongType(`${param}.role`, ['string']);
  if (content === undefined) throw missing(`${param}.content`);
  const kind = kindOf(content);
  if (kind !== 'string' && kind !== 'array') throw wrongType(`${param}.content`, ['string', 'array']);
}

function unsupported(param: string): AppError {
  return new AppError(
    'unsupported_parameter',
    `${param} is not supported. Send the conversation in input, or name an earlier response.`,
    { param },
  );
}
