import { isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { schemasIn } from './json-schemas.ts';
import { gptVersion } from './model-name.ts';
import type { ProviderRule } from './rule.ts';

const date = '2026-11-29';
const catalogue = 'https://www.npmjs.com/package/@ai-sdk/openai/v/4.0.118';

/** Rules of OpenAI's chat completions and responses, and of Moonshot's chat completions. */
export const openAiRules: readonly ProviderRule[] = [
  {
    ...{ id: 'openai-tool-schema', date, check: checkToolSchemas },
    source: 'https://platform.openai.com/docs/guides/function-calling',
  },
  {
    ...{ id: 'openai-strict-schema', date, check: checkOutputSchema },
    source: 'https://platform.openai.com/docs/guides/structured-outputs',
  },
  {
    ...{ id: 'openai-limit-field', date, check: checkLimitField },
    source: 'https://github.com/langgenius/dify/issues/24307',
  },
  { ...{ id: 'openai-sampling', date, check: checkSampling }, source: catalogue },
  { ...{ id: 'openai-effort', date, check: checkEffort }, source: catalogue },
  {
    ...{ id: 'openai-tools-with-effort', date, check: checkToolsWithEffort },
    source: 'https://github.com/BerriAI/litellm/issues/34569',
  },
  {
    ...{ id: 'openai-item-ids', date, check: checkItemIds },
    source: 'https://github.com/microsoft/vscode/issues/321977',
  },
  {
    ...{ id: 'openai-unknown-fields', date, check: checkUnknownFields },
    source: 'https://platform.openai.com/docs/api-reference/chat/create',
  },
  {
    ...{ id: 'kimi-sampling', date, check: checkKimiSampling },
    source: 'https://github.com/MoonshotAI/kimi-code/issues/686',
  },
  {
    ...{ id: 'kimi-reasoning-content', date, check: checkKimiReasoning },
    source: 'https://platform.kimi.ai/docs/api/chat',
  },
  {
    ...{ id: 'deepseek-reasoning-content', date, check: checkDeepSeekReasoning },
    source: 'https://api-docs.deepseek.com/guides/thinking_mode',
  },
];

/** Tools of functions, in either API. */
function functionsOf({ tools }: JsonObject): JsonObject[] {
  return objectsIn(tools)
    .filter(({ type }) => type === 'function')
    .map((tool) => (isObject(tool['function']) ? tool['function'] : tool));
}

function checkToolSchemas(body: JsonObject): string | null {
  for (const { name, parameters } of functionsOf(body)) {
    if (!isObject(parameters)) continue;
    const invalid = `Invalid schema for function '${String(name)}'`;
    if (parameters['type'] !== 'object')
      return `${invalid}: schema must be a JSON Schema of 'type: "object"', got 'type: "${String(parameters['type'])}"'.`;
    if (parameters['properties'] === undefined)
      return `${invalid}: In context=(), object schema missing properties.`;
    const list = schemasIn(parameters).find(({ type, items }) => type === 'array' && items === undefined);
    if (list !== undefined) return `${invalid}: array schema missing items.`;
  }
  return null;
}

function outputFormatOf({ response_format: format, text }: JsonObject): JsonObject | null {
  if (isObject(format)) return isObject(format['json_schema']) ? format['json_schema'] : null;
  return isObject(text) && isObject(text['format']) ? text['format'] : null;
}

function checkOutputSchema(body: JsonObject): string | null {
  const format = outputFormatOf(body);
  const strict = functionsOf(body).filter((each) => each['strict'] === true);
  const schemas = [
    ...(format?.['strict'] === true ? [{ name: format['name'], schema: format['schema'] }] : []),
    ...strict.map(({ name, parameters }) => ({ name, schema: parameters })),
  ];
  for (const { name, schema } of schemas) {
    for (const { type, additionalProperties, properties, required } of schemasIn(schema)) {
      if (type !== 'object') continue;
      if (additionalProperties !== false)
        return `Invalid schema '${String(name)}': 'additionalProperties' is required to be supplied and to be false.`;
      const names = Object.keys(isObject(properties) ? properties : {});
      if (names.some((each) => !(Array.isArray(required) && required.includes(each))))
        return `Invalid schema '${String(name)}': 'required' is required to be supplied and to be an array including every key in properties.`;
    }
  }
  return null;
}

/** Models that think: from GPT-5 on, but for those of chats, and the o series. */
function thinks(model: string): boolean {
  return ((gptVersion(model) ?? 0) >= 500 && !/chat/.test(model)) || /(?:^|\/)o\d/.test(model);
}

function checkLimitField(body: JsonObject, model: string): string | null {
  if (!thinks(model) || body['max_tokens'] === undefined) return null;
  return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
}

function effortOf({ reasoning_effort: effort, reasoning }: JsonObject): unknown {
  return effort ?? (isObject(reasoning) ? reasoning['effort'] : undefined) ?? undefined;
}

const samplings = [
  ...['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs'],
];

function checkSampling(body: JsonObject, model: string): string | null {
  if (!thinks(model)) return null;
  const version = gptVersion(model) ?? 0;
  const effort = effortOf(body);
  const isOff = version > 500 && version < 600 && (effort ?? (version < 505 ? 'none' : 'medium')) === 'none';
  if (isOff) return null;
  const name = samplings.find((each) => body[each] !== undefined && body[each] !== null && body[each] !== 1);
  return name === undefined ? null : `Unsupported parameter: '${name}' is not supported with this model.`;
}

function checkEffort(body: JsonObject, model: string): string | null {
  const effort = effortOf(body);
  if (effort === undefined) return null;
  const version = gptVersion(model);
  if (version === null) return null;
  if (!thinks(model)) return "Unsupported parameter: 'reasoning.effort' is not supported with this model.";
  const refused =
    (version === 500 && effort === 'none') ||
    (version > 500 && effort === 'minimal') ||
    (version < 502 && effort === 'xhigh');
  return refused ? `Unsupported value: '${effort}' is not supported with this model.` : null;
}

function checkToolsWithEffort(body: JsonObject, model: string): string | null {
  if (body['messages'] === undefined || functionsOf(body).length === 0) return null;
  const version = gptVersion(model) ?? 0;
  const effort = effortOf(body);
  const refuses =
    (version === 504 && effort !== undefined && effort !== 'none') ||
    (version >= 505 && version < 600 && effort !== 'none');
  return refuses
    ? 'Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. Please use /v1/responses instead.'
    : null;
}

function checkItemIds({ input }: JsonObject): string | null {
  const ids = objectsIn(input).flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined)
    return `Duplicate item found with id ${twice}. Remove duplicate items from your input and try again.`;
  const calls = objectsIn(input).filter(({ type }) => type === 'function_call');
  const callIds = calls.map((call) => call['call_id']);
  const called = callIds.find((id, index) => callIds.indexOf(id) !== index);
  return called === undefined ? null : `Duplicate function call with call_id ${JSON.stringify(called)}.`;
}

/** Fields in messages that OpenAI's own API does not know. */
function checkUnknownFields({ messages }: JsonObject, model: string): string | null {
  if (gptVersion(model) === null) return null;
  const unknown = ['thinking', 'thinking_blocks', 'reasoning_details', 'signature', 'cache_control'];
  for (const [index, message] of objectsIn(messages).entries()) {
    const name = unknown.find((each) => message[each] !== undefined);
    if (name !== undefined) return `Unrecognized request argument supplied: messages[${index}].${name}`;
  }
  return null;
}

function kimiVersion(model: string): number | null {
  const [, major, minor] = /kimi-k(\d)(?:\.(\d))?/.exec(model) ?? [];
  return major === undefined ? null : Number(major) * 100 + Number(minor ?? 0);
}

function checkKimiSampling(body: JsonObject, model: string): string | null {
  if ((kimiVersion(model) ?? 0) < 205) return null;
  const { temperature, thinking } = body;
  const isOff = isObject(thinking) && thinking['type'] === 'disabled';
  const allowed = isOff ? 0.6 : 1;
  if (temperature === undefined || temperature === allowed) return null;
  return `invalid temperature: only ${allowed} is allowed for this model`;
}

function checkKimiReasoning({ messages, thinking }: JsonObject, model: string): string | null {
  if ((kimiVersion(model) ?? 0) < 205) return null;
  if (isObject(thinking) && thinking['type'] === 'disabled') return null;
  const index = unreasonedCall(messages);
  return index === -1
    ? null
    : `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${index}`;
}

function checkDeepSeekReasoning({ messages }: JsonObject, model: string): string | null {
  if (!/deepseek-(?:reasoner|v(?:3\.[2-9]|[4-9]))/.test(model)) return null;
  return unreasonedCall(messages) === -1
    ? null
    : 'The `reasoning_content` in the thinking mode must be passed back to the API.';
}

/** The first message with calls and without `reasoning_content`; -1 without one. */
function unreasonedCall(messages: unknown): number {
  return objectsIn(messages).findIndex(
    (turn) => objectsIn(turn['tool_calls']).length > 0 && typeof turn['reasoning_content'] !== 'string',
  );
}
