import { openBrace } from '@gatehouse/kit/json-bytes';
import { AppError } from '@gatehouse/kit/errors';
import { membersOnce } from '../wire/request-text.ts';
import type { Fields } from '@gatehouse/kit/fields';
import type { CompletionRequest, Operation, RequestInPath } from '../dialect.ts';
import { choicesIn } from './requested-amounts.ts';
import { maxMixedBytes } from '../bounds.ts';
import {
  checkMessages,
  checkTypes,
  missing,
  modelOf,
  objectOf,
  wrongType,
  type FieldTypes,
} from '../request-fields.ts';
import { OpenAiEmbeddings } from './openai-embeddings.ts';
import { defaultModerationModel, OpenAiModerations } from './openai-moderations.ts';
import { DroppedFields } from '../translation/dropped-fields.ts';
import { JsonSource } from '../wire/json-text.ts';
import { asChat, isMixed } from './mixed-body.ts';
import { fieldNames } from './request-reader.ts';
import { OpenAiRequest } from './openai-request.ts';

/**
 * Types of OpenAI's request fields. Only types are checked; the provider checks values, and other fields pass through.
 */
const chatFields: FieldTypes = {
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

const embeddingFields: FieldTypes = {
  dimensions: ['number'],
  encoding_format: ['string'],
  user: ['string'],
};

/** Fields with checks of their own. */
const decisive = ['model', 'messages', 'input'];

/** See `RequestFormat`. */
export function readRequest(
  operation: Operation,
  body: Buffer,
  parsed: unknown,
  inPath?: RequestInPath,
): CompletionRequest {
  const fields = objectOf(parsed);
  if (inPath !== undefined) {
    const text = Object.hasOwn(fields, 'model') ? body : named(body, inPath.model);
    return readRequest(operation, text, { ...fields, model: inPath.model });
  }
  if (operation === 'embeddings') return embeddingsRequest(body, fields);
  if (operation === 'moderations') return moderationsRequest(body, fields);
  return isMixed(fields) ? mixedRequest(body, fields) : chatRequest(body, fields);
}

/** Fields of responses that become those of chat. */
const mixedFields: FieldTypes = {
  instructions: ['string'],
  max_output_tokens: ['number'],
  reasoning: ['object'],
  text: ['object'],
};

/** A body of another API, as chat. */
function mixedRequest(body: Buffer, fields: Fields): OpenAiRequest {
  if (body.length > maxMixedBytes)
    throw new AppError('invalid_value', 'A body of another API must have at most 4 MiB: use messages.', {
      param: 'input',
    });
  // The text written anew has each name once.
  const members = membersOnce(body);
  checkTypes(fields, mixedFields, decisive);
  const dropped = new DroppedFields(fieldNames);
  const { fields: written, text } = asChat(fields, JsonSource.fromMembers(body, members), dropped);
  return chatRequest(Buffer.from(text), written, dropped.ignored);
}

/** The text of an object with a model, which stood in the path. */
function named(body: Buffer, model: string): Buffer {
  const at = body.indexOf(openBrace) + 1;
  const member = Buffer.from(`"model":${JSON.stringify(model)},`);
  return Buffer.concat([body.subarray(0, at), member, body.subarray(at)]);
}

/** `dropped`: names of fields left out of it before. */
function chatRequest(body: Buffer, fields: Fields, dropped: readonly string[] = []): OpenAiRequest {
  const model = modelOf(fields);
  checkTypes(fields, chatFields, decisive);
  checkMessages(fields['messages'], { needContent: false });
  const options = fields['stream_options'] as { include_usage?: unknown } | null | undefined;
  const head = {
    ...({ operation: 'chat', model } as const),
    stream: fields['stream'] === true,
    wantsUsage: options?.include_usage === true,
    choices: choicesIn(fields, {}),
  };
  return new OpenAiRequest(body, fields, head, dropped);
}

function embeddingsRequest(body: Buffer, fields: Fields): OpenAiRequest {
  const model = modelOf(fields);
  checkTypes(fields, embeddingFields, decisive);
  checkInput(fields);
  return new OpenAiEmbeddings(body, fields, model);
}

function moderationsRequest(body: Buffer, fields: Fields): OpenAiRequest {
  const { model = defaultModerationModel } = fields;
  const name = modelOf({ ...fields, model });
  checkInput(fields);
  const text = Object.hasOwn(fields, 'model') ? body : named(body, name);
  return new OpenAiModerations(text, fields, name);
}

/** Throws a 400 for a request without anything to embed or to classify. */
function checkInput({ input }: Fields): void {
  if (input === undefined) throw missing('input');
  if (typeof input !== 'string' && !Array.isArray(input)) throw wrongType('input', ['string', 'array']);
  if (input.length === 0) throw new AppError('invalid_value', 'input must not be empty.', { param: 'input' });
}
