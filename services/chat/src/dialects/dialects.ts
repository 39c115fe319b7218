import type { Dialect } from './dialect.ts';
import { openai } from './openai/openai.ts';

/** The only place that knows which dialects there are. */
export const dialects = { chat: openai } satisfies Record<string, Dialect>;
