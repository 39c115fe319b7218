import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
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
import { AnthropicRequest } from './anthropic-request.ts';

/**
 * Types of the fields of a request for a message. Only types are checked; the provider checks values, and other fields
 * pass through.
 */
const fieldTypes: FieldTypes = {
  cache_control: ['object'],
  container: ['string', 'object'],
  context_management: ['object'],
  max_tokens: ['number'],
  mcp_servers: ['array'],
  metadata: ['object'],
  output_config: ['object'],
  service_tier: ['string'],
  stop_sequences: ['array'],
  stream: ['boolean'],
  system: ['string', 'array'],
  temperature: ['number'],
  thinking: ['object'],
  tool_choice: ['object'],
  tools: ['array'],
  top_k: ['number'],
  top_p: ['number'],
};

const decisive = ['model', 'messages'];

/** See `RequestFormat`. */
export function readRequest(_operation: Operation, body: Buffer, parsed: unknown): CompletionRequest {
  const fields = objectOf(parsed);
  const model = modelOf(fields);
  checkTypes(fields, fieldTypes, decisive);
  checkMessages(fields['messages']);
  return new AnthropicRequest(body, fields, { model, stream: fields['stream'] === true });
}

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
    if (content === undefined) throw missing(`messages[${index}].content`);
    const kind = kindOf(content);
    if (kind !== 'string' && kind !== 'array')
      throw wrongType(`messages[${index}].content`, ['string', 'array']);
  }
}
