import type { DialectName } from '@gatehouse/contract/dialects';
import type { Dialect } from './dialect.ts';
import { anthropic } from './anthropic-messages/dialect.ts';
import { gemini } from './gemini/dialect.ts';
import { openai } from './openai-chat/dialect.ts';
import { responses } from './openai-responses/dialect.ts';

/** The only place that knows which dialects there are. */
export const dialects = { chat: openai, responses, messages: anthropic, gemini } satisfies Record<
  DialectName,
  Dialect
>;

/** The APIs in which clients can ask and providers be called. */
export type ApiName = keyof typeof dialects;
