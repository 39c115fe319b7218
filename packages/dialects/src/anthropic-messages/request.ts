import type { CompletionRequest, Operation } from '../dialect.ts';
import { checkMessages, checkTypes, modelOf, objectOf, type FieldTypes } from '../request-fields.ts';
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
  checkMessages(fields['messages'], { needContent: true });
  return new AnthropicRequest(body, fields, { model, stream: fields['stream'] === true });
}
