import type { DialectName } from '@gatehouse/contract/dialects';
import type { Dialect } from './dialect.ts';
import type { UpstreamApi } from './upstream-api.ts';
import { anthropicMessagesDialect } from './anthropic-messages/dialect.ts';
import { geminiDialect } from './gemini/dialect.ts';
import { openAiChatDialect } from './openai-chat/dialect.ts';
import { openAiResponsesDialect } from './openai-responses/dialect.ts';

/** The registry of dialects: chat knows them by it alone. */
export const dialects = {
  chat: openAiChatDialect,
  responses: openAiResponsesDialect,
  messages: anthropicMessagesDialect,
  gemini: geminiDialect,
} satisfies Record<DialectName, Dialect>;

/** The APIs in which clients can ask and providers be called. */
export type ApiName = keyof typeof dialects;

/** The dialect of an upstream API; null for one unknown to clients. */
export function dialectOf(api: UpstreamApi): Dialect | null {
  return Object.hasOwn(dialects, api) ? dialects[api as ApiName] : null;
}
