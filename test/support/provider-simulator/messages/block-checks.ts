import { RefusedRequest } from '../errors.ts';
import { entriesIn, isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';
import type { CheckedMessage } from './checked-message.ts';
import { redacted } from './thinking-signer.ts';
import type { ThinkingSigner } from './thinking-signer.ts';

/** Blocks that only one role may have. */
const roleOf: Record<string, CheckedMessage['role']> = {
  thinking: 'assistant',
  redacted_thinking: 'assistant',
  tool_use: 'assistant',
  tool_result: 'user',
};

const idPattern = /^[a-zA-Z0-9_-]{1,64}$/;

/** @throws RefusedRequest (400) for system text that is no text. */
export function checkSystem(system: unknown): void {
  if (system === undefined || typeof system === 'string') return;
  if (!Array.isArray(system)) throw new RefusedRequest('system: Input should be a valid string or list');
  for (const [index, block] of entriesIn(system).entries()) {
    if (!isObject(block) || block['type'] !== 'text') {
      throw new RefusedRequest(`system.${index}.type: Input should be 'text'`);
    }
    checkText(block, 'system');
  }
}

/** @throws RefusedRequest (400) for blocks that Anthropic refuses. Blocks of unknown types are accepted. */
export function checkBlocks({ role, blocks, index }: CheckedMessage, signer: ThinkingSigner): void {
  for (const [place, block] of blocks.entries()) {
    const path = `messages.${index}.content.${place}`;
    const type = String(block['type']);
    const wanted = roleOf[type] ?? role;
    if (wanted !== role || (role === 'system' && type !== 'text')) {
      throw new RefusedRequest(`${path}: \`${type}\` blocks can only be in \`${wanted}\` messages`);
    }
    if (type === 'text') checkText(block, 'messages');
    if (type === 'tool_use') checkToolUse(block, `${path}.tool_use`);
    if (type === 'tool_result') checkToolResult(block, `${path}.tool_result`);
    if (type === 'thinking') checkThinkingBlock(block, path, signer);
    if (type === 'redacted_thinking') checkRedacted(block, path, signer);
  }
}

function checkText(block: JsonObject, path: string): void {
  const { text } = block;
  if (typeof text !== 'string')
    throw new RefusedRequest(`${path}: text.text: Input should be a valid string`);
  if (text === '') throw new RefusedRequest(`${path}: text content blocks must be non-empty`);
  if (text.trim() === '') {
    throw new RefusedRequest(`${path}: text content blocks must contain non-whitespace text`);
  }
}

function checkToolUse(block: JsonObject, path: string): void {
  checkId(block['id'], `${path}.id`);
  if (typeof block['name'] !== 'string') throw new RefusedRequest(`${path}.name: Field required`);
  if (!isObject(block['input']))
    throw new RefusedRequest(`${path}.input: Input should be a valid dictionary`);
}

function checkToolResult(block: JsonObject, path: string): void {
  checkId(block['tool_use_id'], `${path}.tool_use_id`);
  const { content } = block;
  if (content === undefined || typeof content === 'string') return;
  if (!Array.isArray(content)) {
    throw new RefusedRequest(`${path}.content: Input should be a valid string or list`);
  }
  for (const part of objectsIn(content)) {
    if (part['type'] === 'text') checkText(part, 'messages');
  }
}

function checkId(id: unknown, path: string): void {
  if (id === undefined) throw new RefusedRequest(`${path}: Field required`);
  if (typeof id === 'string' && idPattern.test(id)) return;
  throw new RefusedRequest(`${path}: String should match pattern '${idPattern.source}'`);
}

function checkThinkingBlock(block: JsonObject, path: string, signer: ThinkingSigner): void {
  const { thinking, signature } = block;
  if (typeof thinking !== 'string') throw new RefusedRequest(`${path}.thinking.thinking: Field required`);
  if (typeof signature !== 'string') throw new RefusedRequest(`${path}.thinking.signature: Field required`);
  if (signer.verifies(signature, thinking)) return;
  throw new RefusedRequest(`${path}: Invalid \`signature\` in \`thinking\` block`);
}

function checkRedacted(block: JsonObject, path: string, signer: ThinkingSigner): void {
  const { data } = block;
  if (typeof data !== 'string') throw new RefusedRequest(`${path}.redacted_thinking.data: Field required`);
  if (signer.verifies(data, redacted)) return;
  throw new RefusedRequest(`${path}: Invalid \`data\` in \`redacted_thinking\` block`);
}
