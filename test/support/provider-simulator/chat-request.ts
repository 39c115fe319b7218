import { RefusedRequest } from './errors.ts';
import type { FunctionTool, ToolChoice } from './tool-calls.ts';
import { isObject, isWholeNumber, objectsIn } from './values.ts';
import type { JsonObject } from './values.ts';

/** The fields of a chat request that the simulator uses. */
export interface ChatRequest {
  model: string;
  stream: boolean;
  includeUsage: boolean;
  n: number;
  /** Maximum number of words; null without a limit. */
  maxWords: number | null;
  lastRole: string | null;
  lastUserText: string | null;
  /** Texts of the tool messages at the end of the conversation. */
  toolAnswers: string[];
  /** How often tools have answered since the last message that was not theirs or the model's. */
  toolRounds: number;
  tools: FunctionTool[];
  /** Maximum number of tool calls in one response. */
  maxToolCalls: number;
  toolChoice: ToolChoice;
  functions: FunctionTool[];
  functionChoice: ToolChoice;
  responseFormat: { kind: 'text' } | { kind: 'json'; schema: JsonObject | null };
  logprobs: { top: number } | null;
  promptTokens: number;
}

/** @throws RefusedRequest (400) for requests that OpenAI rejects; accepts unknown fields. */
export function readChatRequest(body: unknown): ChatRequest {
  if (!isObject(body)) throw new RefusedRequest('We could not parse the JSON body of your request.');
  const messages = readMessages(body['messages']);
  const tools = objectsIn(body['tools']).map((tool) => readFunction(tool['function']));
  const options = isObject(body['stream_options']) ? body['stream_options'] : {};
  return {
    model: readModel(body),
    stream: body['stream'] === true,
    includeUsage: options['include_usage'] === true,
    n: readN(body['n']),
    maxWords: readMaxWords(body),
    lastRole: roleOf(messages.at(-1)),
    lastUserText: lastUserText(messages),
    toolAnswers: toolAnswers(messages),
    toolRounds: toolRounds(messages),
    tools: tools.filter((tool) => tool !== null),
    maxToolCalls: body['parallel_tool_calls'] === false ? 1 : 2,
    toolChoice: readToolChoice(body['tool_choice']),
    functions: objectsIn(body['functions'])
      .map(readFunction)
      .filter((entry) => entry !== null),
    functionChoice: readToolChoice(body['function_call']),
    responseFormat: readResponseFormat(body['response_format']),
    logprobs: body['logprobs'] === true ? { top: Number(body['top_logprobs'] ?? 0) } : null,
    promptTokens: countPromptTokens(messages, body),
  };
}

/** @throws RefusedRequest (400) without a model. */
export function readModel(body: JsonObject): string {
  const model = body['model'];
  if (typeof model === 'string' && model !== '') return model;
  throw new RefusedRequest('you must provide a model parameter', { param: 'model' });
}

function readMessages(value: unknown): JsonObject[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new RefusedRequest("Invalid 'messages': expected an array with at least one message.", {
      param: 'messages',
    });
  }
  return value.map((message: unknown, index) => {
    if (isObject(message) && typeof message['role'] === 'string') return message;
    throw new RefusedRequest(`Invalid type for 'messages[${index}]': expected an object with a role.`, {
      param: `messages[${index}]`,
      code: 'invalid_type',
    });
  });
}

function readN(value: unknown): number {
  if (value === undefined || value === null) return 1;
  if (isWholeNumber(value) && value >= 1 && value <= 128) return value;
  throw new RefusedRequest("Invalid 'n': expected an integer from 1 to 128.", { param: 'n' });
}

function readMaxWords(body: JsonObject): number | null {
  const value = body['max_completion_tokens'] ?? body['max_tokens'];
  if (value === undefined || value === null) return null;
  if (isWholeNumber(value)) return value;
  throw new RefusedRequest("Invalid 'max_tokens': expected a non-negative integer.", { param: 'max_tokens' });
}

function readFunction(value: unknown): FunctionTool | null {
  if (!isObject(value) || typeof value['name'] !== 'string') return null;
  return { name: value['name'], parameters: value['parameters'] };
}

/** Reads tool_choice or the deprecated function_call: a word, a named function, or a list of allowed tools. */
function readToolChoice(value: unknown): ToolChoice {
  if (value === 'none' || value === 'required') return { kind: value };
  if (!isObject(value)) return { kind: 'auto' };
  const allowed = value['allowed_tools'];
  if (isObject(allowed)) return { kind: allowed['mode'] === 'required' ? 'required' : 'auto' };
  const chosen = isObject(value['function']) ? value['function'] : value;
  return typeof chosen['name'] === 'string' ? { kind: 'named', name: chosen['name'] } : { kind: 'auto' };
}

function readResponseFormat(value: unknown): ChatRequest['responseFormat'] {
  if (!isObject(value)) return { kind: 'text' };
  if (value['type'] === 'json_object') return { kind: 'json', schema: null };
  if (value['type'] !== 'json_schema') return { kind: 'text' };
  const format = isObject(value['json_schema']) ? value['json_schema'] : {};
  return { kind: 'json', schema: isObject(format['schema']) ? format['schema'] : null };
}

function roleOf(message: JsonObject | undefined): string | null {
  return typeof message?.['role'] === 'string' ? message['role'] : null;
}

function lastUserText(messages: JsonObject[]): string | null {
  const message = messages.findLast((entry) => entry['role'] === 'user');
  return message === undefined ? null : textOf(message['content']);
}

/** Messages of the model with calls at the end, which tools have answered. */
function toolRounds(messages: JsonObject[]): number {
  const lastOther = messages.findLastIndex(({ role }) => role !== 'tool' && role !== 'assistant');
  const since = messages.slice(lastOther + 1);
  return since.filter(({ role }, index) => role === 'tool' && since[index - 1]?.['role'] !== 'tool').length;
}

function toolAnswers(messages: JsonObject[]): string[] {
  const lastOther = messages.findLastIndex(
    (entry) => entry['role'] !== 'tool' && entry['role'] !== 'function',
  );
  return messages.slice(lastOther + 1).map((message) => textOf(message['content']));
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsIn(content)
    .map((part) => (typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

/** Counts a quarter of the characters plus three per message: inexact, but deterministic. */
function countPromptTokens(messages: JsonObject[], body: JsonObject): number {
  let tokens = 3;
  for (const message of messages) tokens += 3 + Math.ceil(textOf(message['content']).length / 4);
  for (const field of ['tools', 'functions']) {
    if (body[field] !== undefined) tokens += Math.ceil(JSON.stringify(body[field]).length / 4);
  }
  return tokens;
}
