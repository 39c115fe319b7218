import { RefusedRequest } from '../errors.ts';
import { entriesIn, isObject } from '../values.ts';
import type { JsonObject } from '../values.ts';

/** A message whose content is an array of blocks; a string is one text block. */
export interface CheckedMessage {
  role: 'user' | 'assistant' | 'system';
  blocks: JsonObject[];
  /** Position in the request. */
  index: number;
}

/** The messages of a request. @throws RefusedRequest (400) for roles and contents that Anthropic refuses. */
export function readMessages(body: JsonObject): CheckedMessage[] {
  const given = entriesIn(body['messages']);
  return given.map((message, index) => readMessage(message, index, index === given.length - 1));
}

function readMessage(message: unknown, index: number, last: boolean): CheckedMessage {
  const path = `messages.${index}`;
  if (!isObject(message)) throw new RefusedRequest(`${path}: Input should be a valid dictionary`);
  const { role, content } = message;
  if (role === undefined) throw new RefusedRequest(`${path}.role: Field required`);
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw new RefusedRequest(
      `messages: Unexpected role ${JSON.stringify(role)}. Allowed roles are "user" or "assistant".`,
    );
  }
  if (content === undefined) throw new RefusedRequest(`${path}.content: Field required`);
  if (typeof content !== 'string' && !Array.isArray(content)) {
    throw new RefusedRequest(`${path}.content: Input should be a valid string or list`);
  }
  if (content.length === 0 && !(last && role === 'assistant')) {
    throw new RefusedRequest(
      `${path}: all messages must have non-empty content except for the optional final assistant message`,
    );
  }
  if (typeof content === 'string') return { role, index, blocks: content === '' ? [] : [textBlock(content)] };
  const blocks = entriesIn(content).map((block, place) => {
    if (isObject(block) && typeof block['type'] === 'string') return block;
    throw new RefusedRequest(`${path}.content.${place}.type: Field required`);
  });
  return { role, index, blocks };
}

function textBlock(text: string): JsonObject {
  return { type: 'text', text };
}
