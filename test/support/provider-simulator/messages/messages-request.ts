import { RefusedRequest } from '../errors.ts';
import type { FunctionTool, ToolChoice } from '../tool-calls.ts';
import { entriesIn, isObject, isWholeNumber, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { inputSegments } from './input-segments.ts';
import type { InputSegment } from './input-segments.ts';

/** The fields of a Messages request that the simulator uses. */
export interface MessagesRequest {
  model: string;
  stream: boolean;
  /** Maximum number of output tokens, which are words here. */
  maxTokens: number;
  stopSequences: string[];
  /** Whether the last message is the beginning of the answer. */
  prefilled: boolean;
  /** Text of the last text block of the last user message; earlier ones often are context. */
  lastUserText: string | null;
  /** Texts of the tool results in the last message. */
  toolAnswers: string[];
  /** How often tools have answered since the last user message without results. */
  toolRounds: number;
  tools: FunctionTool[];
  /** Maximum number of tool calls in one answer. */
  maxToolCalls: number;
  toolChoice: ToolChoice;
  /** The schema of `output_config.format`; null for text. */
  schema: JsonObject | null;
  /** How an answer shows its thinking; null if it has none. */
  thinking: 'shown' | 'omitted' | null;
  input: InputSegment[];
}

function readMaxTokens(body: JsonObject): number {
  const value = body['max_tokens'];
  if (value === undefined) throw new RefusedRequest('max_tokens: Field required');
  if (isWholeNumber(value)) return value;
  throw new RefusedRequest('max_tokens: Input should be a valid integer');
}

/** Reads a body that `readBody` has returned. @throws RefusedRequest (400) without `max_tokens`. */
export function readMessagesRequest(body: JsonObject): MessagesRequest {
  // Instructions in the middle of a conversation begin no turn.
  const messages = objectsIn(body['messages']).filter(({ role }) => role !== 'system');
  const choice = isObject(body['tool_choice']) ? body['tool_choice'] : {};
  return {
    model: String(body['model']),
    stream: body['stream'] === true,
    maxTokens: readMaxTokens(body),
    stopSequences: entriesIn(body['stop_sequences']).filter((stop) => typeof stop === 'string'),
    prefilled: messages.at(-1)?.['role'] === 'assistant',
    lastUserText: lastUserText(messages),
    toolAnswers: toolResults(messages.at(-1)).map((result) => textOf(result['content'])),
    toolRounds: toolRounds(messages),
    tools: readTools(body['tools']),
    maxToolCalls: choice['disable_parallel_tool_use'] === true ? 1 : 2,
    toolChoice: readToolChoice(choice),
    schema: readSchema(body),
    thinking: readThinking(body['thinking'], messages),
    input: inputSegments(body),
  };
}

/** The tools with a schema, as those without one run at the provider. */
function readTools(value: unknown): FunctionTool[] {
  return objectsIn(value).flatMap((tool) =>
    typeof tool['name'] === 'string' && isObject(tool['input_schema'])
      ? [{ name: tool['name'], parameters: tool['input_schema'] }]
      : [],
  );
}

function readToolChoice(choice: JsonObject): ToolChoice {
  if (choice['type'] === 'none') return { kind: 'none' };
  if (choice['type'] === 'any') return { kind: 'required' };
  if (choice['type'] === 'tool') return { kind: 'named', name: String(choice['name']) };
  return { kind: 'auto' };
}

function readSchema(body: JsonObject): JsonObject | null {
  const config = isObject(body['output_config']) ? body['output_config'] : {};
  const format = isObject(config['format']) ? config['format'] : {};
  return isObject(format['schema']) ? format['schema'] : null;
}

function readThinking(value: unknown, messages: JsonObject[]): MessagesRequest['thinking'] {
  if (!isObject(value)) return null;
  const afterTools = toolResults(messages.at(-1)).length > 0;
  const thinks = ['enabled', 'adaptive'].includes(String(value['type']));
  if (!thinks && !(value['type'] === 'between_tools' && afterTools)) return null;
  return value['display'] === 'omitted' ? 'omitted' : 'shown';
}

function lastUserText(messages: JsonObject[]): string | null {
  const message = messages.findLast(({ role }) => role === 'user');
  if (message === undefined) return null;
  const { content } = message;
  if (typeof content === 'string') return content;
  const block = objectsIn(content).findLast(({ type }) => type === 'text');
  return typeof block?.['text'] === 'string' ? block['text'] : null;
}

function toolResults(message: JsonObject | undefined): JsonObject[] {
  if (message?.['role'] !== 'user') return [];
  return objectsIn(message['content']).filter(({ type }) => type === 'tool_result');
}

function toolRounds(messages: JsonObject[]): number {
  const lastAsked = messages.findLastIndex(
    (message) => message['role'] === 'user' && toolResults(message).length === 0,
  );
  return messages.slice(lastAsked + 1).filter((message) => toolResults(message).length > 0).length;
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsIn(content)
    .map((block) => (typeof block['text'] === 'string' ? block['text'] : ''))
    .join('');
}
