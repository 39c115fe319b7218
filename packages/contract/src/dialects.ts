import type { z } from 'zod';
import { anthropicErrorBody, errorBody, googleErrorBody } from './error-body.ts';

/** The contract's entry of a dialect; its routes name it, and `packages/dialects` has everything else. */
interface ClientDialect {
  /** The headers in which its clients send their key, besides `Authorization`. */
  keyHeaders: readonly string[];
  /** The query parameter in which they may send it; null without one. */
  keyInQuery: string | null;
  errorBody: z.ZodType;
  /** Whether clients get a provider's error about their request with the body the provider wrote. */
  keepsErrorBodies: boolean;
}

/**
 * The formats of clients' requests, answers and errors. `chat` is OpenAI's chat completions; routes of no dialect
 * write errors in its format.
 */
export const clientDialects = {
  chat: { keyHeaders: [], keyInQuery: null, errorBody, keepsErrorBodies: false },
  responses: { keyHeaders: [], keyInQuery: null, errorBody, keepsErrorBodies: true },
  messages: {
    keyHeaders: ['x-api-key'],
    keyInQuery: null,
    errorBody: anthropicErrorBody,
    keepsErrorBodies: true,
  },
  gemini: {
    keyHeaders: ['x-goog-api-key'],
    keyInQuery: 'key',
    errorBody: googleErrorBody,
    keepsErrorBodies: true,
  },
} as const satisfies Record<string, ClientDialect>;
export type DialectName = keyof typeof clientDialects;

export const dialectNames = Object.keys(clientDialects) as [DialectName, ...DialectName[]];

/** The dialect of requests without a sign of another one. */
export const defaultDialect: DialectName = 'chat';

/** The headers in which the clients of these dialects send their key at a path, besides `Authorization`. */
export function keyHeadersAt(path: string, dialects: readonly DialectName[]): readonly string[] {
  return path.startsWith('/openai/')
    ? ['api-key']
    : dialects.flatMap((name): readonly string[] => clientDialects[name].keyHeaders);
}

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
