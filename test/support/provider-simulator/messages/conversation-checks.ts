import { RefusedRequest } from '../errors.ts';
import { isObject } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { checkBlocks, checkSystem } from './block-checks.ts';
import { readMessages } from './checked-message.ts';
import type { CheckedMessage } from './checked-message.ts';
import type { ThinkingSigner } from './thinking-signer.ts';
import { checkToolTurns } from './tool-turn-checks.ts';

/** @throws RefusedRequest (400) for system text and messages that Anthropic refuses. */
export function checkConversation(body: JsonObject, signer: ThinkingSigner): void {
  checkSystem(body['system']);
  const messages = readMessages(body);
  checkSystemMessages(messages);
  for (const message of messages) checkBlocks(message, signer);
  checkEnd(messages.at(-1));
  const turns = turnsOf(messages);
  checkToolTurns(turns);
  checkLastToolTurn(body, turns);
}

/** A system message follows a turn of the user, and comes before one of the assistant or at the end. */
function checkSystemMessages(messages: CheckedMessage[]): void {
  for (const [index, { role }] of messages.entries()) {
    if (role !== 'system') continue;
    if (index === 0) {
      throw new RefusedRequest(
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
      );
    }
    if (messages[index - 1]?.role === 'assistant') {
      throw new RefusedRequest(`messages.${index}: role 'system' must follow a 'user' message`);
    }
    if (messages[index + 1]?.role === 'user') {
      throw new RefusedRequest(
        `messages.${index}: role 'system' must precede an 'assistant' message or end the array`,
      );
    }
  }
}

/** The beginning of an answer that the model continues. */
function checkEnd(last: CheckedMessage | undefined): void {
  const block = last?.role === 'assistant' ? last.blocks.at(-1) : undefined;
  if (typeof block?.['text'] === 'string' && /\s$/.test(block['text'])) {
    throw new RefusedRequest('messages: final assistant content cannot end with trailing whitespace');
  }
}

/** Adjacent messages of one role are one turn; a turn has the position of its last message. */
function turnsOf(messages: CheckedMessage[]): CheckedMessage[] {
  const turns: CheckedMessage[] = [];
  for (const message of messages) {
    if (message.role === 'system') continue;
    const before = turns.at(-1);
    if (before?.role === message.role) {
      before.blocks = [...before.blocks, ...message.blocks];
      before.index = message.index;
    } else turns.push({ ...message });
  }
  return turns;
}

/** With manual thinking, the calls that the last results answer come with the thinking that led to them. */
function checkLastToolTurn(body: JsonObject, turns: CheckedMessage[]): void {
  const { thinking } = body;
  if (!isObject(thinking) || thinking['type'] !== 'enabled') return;
  const last = turns.at(-1);
  const calls = turns.at(-2);
  if (last?.role !== 'user' || last.blocks[0]?.['type'] !== 'tool_result' || calls === undefined) return;
  const first = String(calls.blocks[0]?.['type']);
  if (first === 'thinking' || first === 'redacted_thinking') return;
  throw new RefusedRequest(
    `messages.${calls.index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
  );
}
