import type { z } from 'zod';
import { anthropicErrorBody, errorBody, googleErrorBody } from './error-body.ts';

/** The contract's entry of a dialect; its routes name it, and `packages/dialects` has everything else. */
interface ClientDialect {
  /** The headers in which its clients send their key, besides `Authorization`. */
  keyHeaders: readonly string[];
  /** The query parameter in which they may send it; null without one. */
  keyInQuery: string | null;
  /** Headers of its clients, in lower case, passed to providers of the same API. */
  passedHeaders: readonly string[];
  errorBody: z.ZodType;
}

/**
 * The formats of clients' requests, answers and errors. `chat` is OpenAI's chat completions; routes of no dialect
 * write errors in its format.
 */
export const clientDialects = {
  chat: { keyHeaders: [], keyInQuery: null, passedHeaders: ['openai-beta'], errorBody },
  responses: {
    keyHeaders: [],
    keyInQuery: null,
    passedHeaders: ['openai-beta', 'x-openai-internal-codex-responses-lite'],
    errorBody,
  },
  messages: {
    keyHeaders: ['x-api-key'],
    keyInQuery: null,
    passedHeaders: ['anthropic-version', 'anthropic-beta'],
    errorBody: anthropicErrorBody,
  },
  gemini: {
    keyHeaders: ['x-goog-api-key'],
    keyInQuery: 'key',
    passedHeaders: [],
    errorBody: googleErrorBody,
  },
} as const satisfies Record<string, ClientDialect>;
export type DialectName = keyof typeof clientDialects;

export const dialectNames = Object.keys(clientDialects) as [DialectName, ...DialectName[]];

/** The operations of runs. */
export const runOperations = ['chat', 'embeddings', 'moderations', 'execute_tool'] as const;
export type RunOperation = (typeof runOperations)[number];
/** The operations of calls of models. */
export type ModelOperation = Exclude<RunOperation, 'execute_tool'>;

/** The dialect of requests without a sign of another one. */
export const defaultDialect: DialectName = 'chat';

/** The headers in which the clients of a dialect send their key at a path, besides `Authorization`. */
export function keyHeadersAt(path: string, dialect: DialectName): readonly string[] {
  return path.startsWith('/openai/') ? ['api-key'] : clientDialects[dialect].keyHeaders;
}

/** The headers that name the session of a request: the gateway's own, then those of clients, in order of precedence. */
export const sessionHeaders = [
  'x-session-id',
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'x-session-affinity',
] as const;

/** The internal header by which the edge names the dialect of a request to a service; absent for the default. */
export const dialectHeader = 'x-gatehouse-dialect';

/** The dialect named by a value of `dialectHeader`; the default for any other value. */
export function dialectNamed(value: unknown): DialectName {
  const isName = typeof value === 'string' && Object.hasOwn(clientDialects, value);
  return isName ? (value as DialectName) : defaultDialect;
}

/** The place in a stream of `responses` behind its last event, which an error goes on from. */
export interface StreamPlace {
  id: string;
  /** Unix time, in seconds. */
  createdAt: number;
  model: string;
  /** The number of the next event. */
  next: number;
}
