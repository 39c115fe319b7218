import { RefusedRequest } from '../errors.ts';
import { entriesIn, isObject, isWholeNumber } from '../values.ts';
import type { JsonObject } from '../values.ts';

/** Fields of chat completions that Anthropic's API refuses. Fields that neither API has are accepted. */
const fieldsOfChat = [
  ...['stop', 'n', 'max_completion_tokens', 'stream_options', 'response_format', 'reasoning_effort'],
  ...['functions', 'function_call', 'parallel_tool_calls', 'logprobs', 'top_logprobs', 'logit_bias'],
  ...['frequency_penalty', 'presence_penalty', 'seed', 'user'],
];

/** Parameters that the version 2026-10-21 no longer has. */
const sampling = ['temperature', 'top_p', 'top_k'];

const leastBudget = 1024;

/** @throws RefusedRequest (400) for parameters that Anthropic refuses; `checkConversation` checks the messages. */
export function checkParameters(body: JsonObject, version: unknown): void {
  const foreign = version === '2026-10-21' ? [...fieldsOfChat, ...sampling] : fieldsOfChat;
  const extra = foreign.find((field) => field in body);
  if (extra !== undefined) throw new RefusedRequest(`${extra}: Extra inputs are not permitted`);
  checkStopSequences(body['stop_sequences']);
  const tools = checkTools(body['tools']);
  checkToolChoice(body['tool_choice'], tools);
  checkThinking(body);
}

function checkStopSequences(value: unknown): void {
  if (value === undefined || value === null) return;
  if (!Array.isArray(value)) throw new RefusedRequest('stop_sequences: Input should be a valid list');
  for (const [index, sequence] of entriesIn(value).entries()) {
    if (typeof sequence !== 'string') {
      throw new RefusedRequest(`stop_sequences.${index}: Input should be a valid string`);
    }
    if (sequence.trim() === '') {
      throw new RefusedRequest('stop_sequences: each stop sequence must contain non-whitespace');
    }
  }
}

/** Returns the names of the tools. */
function checkTools(value: unknown): string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new RefusedRequest('tools: Input should be a valid list');
  const names = entriesIn(value).map((tool, index) => checkTool(tool, `tools.${index}`));
  if (new Set(names).size < names.length) throw new RefusedRequest('tools: Tool names must be unique.');
  return names;
}

function checkTool(tool: unknown, path: string): string {
  if (!isObject(tool)) throw new RefusedRequest(`${path}: Input should be a valid dictionary`);
  const type = tool['type'] ?? 'custom';
  if (type === 'function') {
    throw new RefusedRequest(
      `${path}: Input tag 'function' found using 'type' does not match any expected tag`,
    );
  }
  const name = tool['name'];
  // Tools that run at the provider have types with a date, and no schema.
  if (type !== 'custom') return typeof name === 'string' ? name : JSON.stringify(type);
  if (typeof name !== 'string') throw new RefusedRequest(`${path}.custom.name: Field required`);
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
    throw new RefusedRequest(`${path}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
  }
  const schema = tool['input_schema'];
  if (schema === undefined) throw new RefusedRequest(`${path}.custom.input_schema: Field required`);
  if (!isObject(schema) || schema['type'] !== 'object') {
    throw new RefusedRequest(`${path}.custom.input_schema.type: Input should be 'object'`);
  }
  return name;
}

function checkToolChoice(choice: unknown, tools: string[]): void {
  if (choice === undefined) return;
  if (!isObject(choice) || !['auto', 'any', 'tool', 'none'].includes(String(choice['type']))) {
    throw new RefusedRequest("tool_choice: Input should be 'auto', 'any', 'tool' or 'none'");
  }
  if (tools.length === 0) {
    throw new RefusedRequest('tool_choice: tool_choice may only be specified while providing tools');
  }
  if (choice['type'] === 'tool' && !tools.includes(String(choice['name']))) {
    throw new RefusedRequest(`tool_choice: Tool '${String(choice['name'])}' not found in provided tools`);
  }
}

function checkThinking(body: JsonObject): void {
  const { thinking } = body;
  if (thinking === undefined || thinking === null) return;
  if (!isObject(thinking) || typeof thinking['type'] !== 'string') {
    throw new RefusedRequest('thinking.type: Field required');
  }
  if (!['enabled', 'disabled', 'adaptive', 'between_tools'].includes(thinking['type'])) {
    throw new RefusedRequest(
      `thinking: Input tag '${thinking['type']}' found using 'type' does not match any expected tag`,
    );
  }
  if (thinking['type'] === 'enabled') checkBudget(thinking['budget_tokens'], body['max_tokens']);
  if (thinking['type'] === 'disabled') return;
  const choice = isObject(body['tool_choice']) ? body['tool_choice']['type'] : null;
  if (choice === 'any' || choice === 'tool') {
    throw new RefusedRequest('Thinking may not be enabled when tool_choice forces tool use.');
  }
  const { temperature } = body;
  if (temperature !== undefined && temperature !== null && temperature !== 1) {
    throw new RefusedRequest('`temperature` may only be set to 1 when thinking is enabled.');
  }
}

/** Requests that count tokens have no `max_tokens`. */
function checkBudget(budget: unknown, maxTokens: unknown): void {
  const path = 'thinking.enabled.budget_tokens';
  if (budget === undefined) throw new RefusedRequest(`${path}: Field required`);
  if (!isWholeNumber(budget)) throw new RefusedRequest(`${path}: Input should be a valid integer`);
  if (budget < leastBudget) {
    throw new RefusedRequest(`${path}: Input should be greater than or equal to ${leastBudget}`);
  }
  if (typeof maxTokens === 'number' && budget >= maxTokens) {
    throw new RefusedRequest('`max_tokens` must be greater than `thinking.budget_tokens`.');
  }
}
