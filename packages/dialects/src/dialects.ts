import type { DialectName } from '@gatehouse/contract/dialects';
import type { Dialect } from './dialect.ts';
import type { UpstreamApi } from './upstream-api.ts';
import { anthropic } from './anthropic-messages/dialect.ts';
import { gemini } from './gemini/dialect.ts';
import { openai } from './openai-chat/dialect.ts';
import { responses } from './openai-responses/dialect.ts';

/** The registry of dialects: chat knows them by it alone. */
export const dialects = { chat: openai, responses, messages: anthropic, gemini } satisfies Record<
  DialectName,
  Dialect
>;

/** The APIs in which clients can ask and providers be called. */
export type ApiName = keyof typeof dialects;

/** The dialect of an upstream API; null for one that no client speaks. */
export function dialectOf(api: UpstreamApi): Dialect | null {
  return Object.hasOwn(dialects, api) ? dialects[api as ApiName] : null;
}
