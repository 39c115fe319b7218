import type { ChatRequest } from '../chat-request.ts';
import type { ThinkingSigner } from '../messages/thinking-signer.ts';
import type { ToolChoice } from '../tool-calls.ts';
import { entriesIn, isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { callableTools, qualifiedName } from './callable-tools.ts';
import type { CallableTool } from './callable-tools.ts';
import { readItems } from './item-checks.ts';
import { checkOrder } from './order-checks.ts';
import { readBody } from './request-checks.ts';
import { checkToolChoice, checkTools } from './tool-checks.ts';

/** The fields of a request that the simulator uses. */
export interface ResponsesRequest {
  /** All parameters, which the answer repeats. */
  body: JsonObject;
  model: string;
  stream: boolean;
  /** Maximum number of output tokens, which are words here, with those of reasoning; null without a limit. */
  maxTokens: number | null;
  /** Whether the answer is a compaction of the conversation. */
  compacts: boolean;
  /** Whether the last item is a message of the user. */
  asked: boolean;
  /** Text of the last text part of the last user message; earlier ones often are context. */
  lastUserText: string | null;
  /** Texts of the results of tools at the end. */
  toolAnswers: string[];
  /** How often tools have answered since the last message. */
  toolRounds: number;
  tools: CallableTool[];
  /** Maximum number of calls in one answer. */
  maxToolCalls: number;
  toolChoice: ToolChoice;
  format: ChatRequest['responseFormat'];
  reasoning: { summarized: boolean; encrypted: boolean } | null;
  inputTokens: number;
}

/** @throws RefusedRequest for requests that OpenAI refuses. */
export function readResponsesRequest(value: unknown, signer: ThinkingSigner): ResponsesRequest {
  const body = readBody(value);
  const items = readItems(body['input'], signer);
  checkOrder(items);
  checkTools(body['tools'], 'tools');
  const added = items.filter(({ type }) => type === 'additional_tools');
  const tools = [body, ...added].flatMap((holder) => objectsIn(holder['tools']));
  checkToolChoice(body['tool_choice'], tools);
  // Instructions in the middle of a conversation begin no turn.
  const turns = items.filter(({ type, role }) => type !== 'additional_tools' && !isInstruction(role));
  return {
    body,
    model: String(body['model']),
    stream: body['stream'] === true,
    maxTokens: typeof body['max_output_tokens'] === 'number' ? body['max_output_tokens'] : null,
    compacts: items.at(-1)?.['type'] === 'compaction_trigger',
    asked: turns.at(-1)?.['role'] === 'user',
    lastUserText: lastUserText(turns),
    toolAnswers: toolAnswers(turns).map(({ output }) => textOf(output)),
    toolRounds: toolRounds(turns),
    tools: callableTools(tools),
    maxToolCalls: body['parallel_tool_calls'] === false ? 1 : 2,
    toolChoice: readToolChoice(body['tool_choice']),
    format: readFormat(body['text']),
    reasoning: readReasoning(body),
    inputTokens: countInput(body, items),
  };
}

function isInstruction(role: unknown): boolean {
  return role === 'system' || role === 'developer';
}

function readToolChoice(choice: unknown): ToolChoice {
  if (choice === 'none' || choice === 'required') return { kind: choice };
  if (!isObject(choice)) return { kind: 'auto' };
  const { type, name, namespace, mode } = choice;
  if (type === 'allowed_tools') return { kind: mode === 'required' ? 'required' : 'auto' };
  if (typeof name !== 'string') return { kind: 'auto' };
  return { kind: 'named', name: qualifiedName(typeof namespace === 'string' ? namespace : null, name) };
}

function readFormat(text: unknown): ResponsesRequest['format'] {
  const format = isObject(text) && isObject(text['format']) ? text['format'] : {};
  if (format['type'] === 'json_object') return { kind: 'json', schema: null };
  if (format['type'] !== 'json_schema') return { kind: 'text' };
  return { kind: 'json', schema: isObject(format['schema']) ? format['schema'] : null };
}

/** A model reasons if the request says how, or wants it encrypted. */
function readReasoning(body: JsonObject): ResponsesRequest['reasoning'] {
  const encrypted = entriesIn(body['include']).includes('reasoning.encrypted_content');
  const reasoning = isObject(body['reasoning']) ? body['reasoning'] : null;
  if (reasoning?.['effort'] === 'none' || (reasoning === null && !encrypted)) return null;
  return { summarized: typeof reasoning?.['summary'] === 'string', encrypted };
}

function lastUserText(turns: JsonObject[]): string | null {
  const message = turns.findLast(({ role }) => role === 'user');
  if (message === undefined) return null;
  const { content } = message;
  if (typeof content === 'string') return content;
  const part = objectsIn(content).findLast(({ type }) => type === 'input_text');
  return typeof part?.['text'] === 'string' ? part['text'] : null;
}

const isOutput = ({ type }: JsonObject): boolean => String(type).endsWith('_output');

function toolAnswers(turns: JsonObject[]): JsonObject[] {
  return turns.slice(turns.findLastIndex((item) => !isOutput(item)) + 1);
}

/** Groups of results, which calls stand between. */
function toolRounds(turns: JsonObject[]): number {
  const since = turns.slice(turns.findLastIndex(({ role }) => role === 'user') + 1);
  return since.filter((item, index) => isOutput(item) && !isOutput(since[index - 1] ?? {})).length;
}

function textOf(parts: unknown): string {
  if (typeof parts === 'string') return parts;
  return objectsIn(parts)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('');
}

/** Counts a quarter of the characters plus three per item: inexact, but deterministic. */
function countInput({ instructions, tools }: JsonObject, items: JsonObject[]): number {
  const quarter = (text: string): number => Math.ceil(text.length / 4);
  const base = 3 + quarter(typeof instructions === 'string' ? instructions : '');
  const counted = items.reduce((tokens, item) => tokens + 3 + quarter(countedText(item)), base);
  return tools === undefined ? counted : counted + quarter(JSON.stringify(tools));
}

function countedText({ content, output, name, arguments: given, input, tools }: JsonObject): string {
  const called = [name, given, input].map((part) => (typeof part === 'string' ? part : ''));
  return (
    textOf(content) + textOf(output) + called.join('') + (tools === undefined ? '' : JSON.stringify(tools))
  );
}
