import { createHash } from 'node:crypto';
import { isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { claudeVersion } from './model-name.ts';

/**
 * Newer models of Anthropic bind a thought to all before its message: the system prompt, the tools and the messages
 * (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). The simulator's signatures show that by a
 * hash behind the id of the answer.
 */

/** The end of the id by which an answer to the request is signed; empty for a model that doesn't bind thoughts. */
export function boundTo(body: JsonObject): string {
  if (!bindsThinking(String(body['model']))) return '';
  return `~${hashBefore(body, objectsIn(body['messages']).length)}`;
}

/** Why a thought of another conversation is refused; null if there is none, or if the request has it dropped. */
export function boundThinkingRefusal(body: JsonObject, model: string): string | null {
  if (!bindsThinking(model)) return null;
  const { thinking } = body;
  const binding = isObject(thinking) ? thinking['block_binding'] : undefined;
  if (isObject(binding) && binding['prefix_mismatch_behavior'] === 'drop_block') return null;
  for (const [index, message] of objectsIn(body['messages']).entries()) {
    for (const { type, signature } of objectsIn(message['content'])) {
      const made = type === 'thinking' ? Buffer.from(String(signature), 'base64').toString() : '';
      const [, hash] = /^[^ ]+~([\w-]+) /.exec(made) ?? [];
      if (hash !== undefined && hash !== hashBefore(body, index))
        return `messages.${index}: thinking block is bound to a different conversation`;
    }
  }
  return null;
}

function bindsThinking(model: string): boolean {
  return (claudeVersion(model) ?? 0) >= 501;
}

/** A hash of all before a message. Hints of caches don't count. */
function hashBefore({ system, tools, messages }: JsonObject, index: number): string {
  const before = [system, tools, ...objectsIn(messages).slice(0, index).map(withBlocks)];
  const text = JSON.stringify(before, (name, value: unknown) =>
    name === 'cache_control' ? undefined : value,
  );
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

function withBlocks({ role, content }: JsonObject): JsonObject {
  return { role, content: typeof content === 'string' ? [{ type: 'text', text: content }] : content };
}
