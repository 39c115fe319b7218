import { RefusedRequest } from '../errors.ts';
import { entriesIn, isObject } from '../values.ts';
import type { JsonObject } from '../values.ts';
import {
  checkFields,
  decimal,
  flag,
  integer,
  list,
  nullable,
  object,
  objectOf,
  oneOf,
  shortText,
  text,
  textOrObject,
} from './field-checks.ts';
import type { FieldCheck } from './field-checks.ts';
import { missing, wrongType } from './refusals.ts';
import { checkStrictSchema } from './schema-checks.ts';

const includable = [
  ...['file_search_call.results', 'web_search_call.results', 'web_search_call.action.sources'],
  ...['message.input_image.image_url', 'computer_call_output.output.image_url'],
  ...['code_interpreter_call.outputs', 'reasoning.encrypted_content', 'message.output_text.logprobs'],
];

const summaries = nullable(oneOf('auto', 'concise', 'detailed'));

/** The parameters of a request: https://platform.openai.com/docs/api-reference/responses/create. */
const parameters: Record<string, FieldCheck> = {
  model: text,
  input: checkInputType,
  instructions: nullable(text),
  stream: nullable(flag),
  stream_options: nullable(objectOf({ include_obfuscation: flag })),
  store: nullable(flag),
  background: nullable(flag),
  parallel_tool_calls: nullable(flag),
  max_output_tokens: nullable(integer(16)),
  max_tool_calls: nullable(integer(1)),
  temperature: nullable(decimal(0, 2)),
  top_p: nullable(decimal(0, 1)),
  top_logprobs: nullable(integer(0, 20)),
  metadata: nullable(checkMetadata),
  include: nullable(eachOf(oneOf(...includable))),
  reasoning: nullable(
    objectOf({
      effort: nullable(oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
      summary: summaries,
      generate_summary: summaries,
      context: nullable(oneOf('auto', 'current_turn', 'all_turns')),
      mode: text,
    }),
  ),
  text: objectOf({ format: checkFormat, verbosity: nullable(oneOf('low', 'medium', 'high')) }),
  tools: list,
  tool_choice: textOrObject,
  truncation: nullable(oneOf('auto', 'disabled')),
  service_tier: nullable(oneOf('auto', 'default', 'flex', 'scale', 'priority')),
  user: text,
  safety_identifier: nullable(shortText(64)),
  prompt_cache_key: nullable(text),
  prompt_cache_retention: nullable(oneOf('in_memory', '24h')),
  prompt_cache_options: object,
  previous_response_id: nullable(text),
  conversation: nullable(textOrObject),
  prompt: nullable(object),
  client_metadata: nullable(object),
  context_management: nullable(list),
  moderation: nullable(object),
  access_programs: object,
  image: object,
  x_simulator: () => undefined, // read before the API sees the request
};

/** The parameters of chat completions, and their places here. */
const moved: Record<string, string> = {
  messages: 'input',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
};

/** @throws RefusedRequest (400) for all that OpenAI refuses, apart from items and tools. */
export function readBody(body: unknown): JsonObject {
  if (!isObject(body)) {
    throw new RefusedRequest('We could not parse the JSON body of your request.');
  }
  const old = Object.keys(moved).find((field) => field in body);
  if (old !== undefined) {
    throw new RefusedRequest(
      `Unsupported parameter: '${old}'. In the Responses API, this parameter has moved to '${moved[old] ?? ''}'.`,
      { param: old, code: 'unsupported_parameter' },
    );
  }
  checkFields(body, parameters);
  const { model } = body;
  if (model === undefined) throw missing('model');
  text(model, 'model');
  if (body['input'] === undefined) throw missing('input');
  checkState(body);
  checkModel(model, body);
  if (isObject(body['stream_options']) && body['stream'] !== true) {
    throw new RefusedRequest("The 'stream_options' parameter is only allowed when 'stream' is enabled.", {
      param: 'stream_options',
    });
  }
  return body;
}

function checkInputType(value: unknown, param: string): void {
  if (typeof value === 'string' || Array.isArray(value)) return;
  throw wrongType(param, 'one of a string or array of input items', value);
}

function eachOf(check: FieldCheck): FieldCheck {
  return (value, param) => {
    list(value, param);
    for (const [index, entry] of entriesIn(value).entries()) check(entry, `${param}[${index}]`);
  };
}

function checkMetadata(value: unknown, param: string): void {
  object(value, param);
  for (const [key, entry] of Object.entries(value)) {
    shortText(512)(entry, `${param}.${key}`);
  }
}

function checkFormat(value: unknown, param: string): void {
  object(value, param);
  const { type, name, schema } = value;
  if (type === undefined) throw missing(`${param}.type`);
  oneOf('text', 'json_object', 'json_schema')(type, `${param}.type`);
  if (type !== 'json_schema') return;
  if (name === undefined) throw missing(`${param}.name`);
  text(name, `${param}.name`);
  shortText(64)(name, `${param}.name`);
  if (schema === undefined) throw missing(`${param}.schema`);
  object(schema, `${param}.schema`);
  checkFields(
    value,
    { type: text, name: text, schema: object, description: text, strict: nullable(flag) },
    `${param}.`,
  );
  if (value['strict'] !== true) return;
  checkStrictSchema(schema, (reason) => {
    return new RefusedRequest(`Invalid schema for response_format '${name}': ${reason}`, {
      param: `${param}.schema`,
      code: 'invalid_json_schema',
    });
  });
}

/** The simulator stores no responses. */
function checkState(body: JsonObject): void {
  const { previous_response_id: previous, conversation } = body;
  if (typeof previous === 'string') {
    throw new RefusedRequest(`Previous response with id '${previous}' not found.`, {
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    });
  }
  if (conversation !== undefined && conversation !== null) {
    throw new RefusedRequest('Conversation not found.', { status: 404, param: 'conversation' });
  }
}

/** Models before the reasoning ones have neither effort nor encrypted reasoning. */
function checkModel(model: string, body: JsonObject): void {
  if (!/^(gpt-3|gpt-4|chatgpt-4)/.test(model)) return;
  if (entriesIn(body['include']).includes('reasoning.encrypted_content')) {
    throw new RefusedRequest('Encrypted content is not supported with this model.', { param: 'include' });
  }
  const effort = isObject(body['reasoning']) ? body['reasoning']['effort'] : null;
  if (effort !== undefined && effort !== null) {
    throw new RefusedRequest("Unsupported parameter: 'reasoning.effort' is not supported with this model.", {
      param: 'reasoning.effort',
      code: 'unsupported_parameter',
    });
  }
}
