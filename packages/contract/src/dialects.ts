/**
 * The formats in which clients ask, and get answers and errors. `chat` is OpenAI's chat completions; every route that
 * no dialect has of its own writes errors as it does.
 */
export const dialectNames = ['chat', 'responses', 'messages', 'gemini'] as const;
export type DialectName = (typeof dialectNames)[number];

/** The headers in which the clients of a dialect send their key, besides `Authorization`. */
export const keyHeaders: Readonly<Record<DialectName, readonly string[]>> = {
  chat: [],
  responses: [],
  messages: ['x-api-key'],
  gemini: ['x-goog-api-key'],
};

/** The headers in which the clients of these dialects send their key at a path, besides `Authorization`. */
export function keyHeadersAt(path: string, dialects: readonly DialectName[]): readonly string[] {
  return path.startsWith('/openai/') ? ['api-key'] : dialects.flatMap((name) => keyHeaders[name]);
}

/** The internal header by which the edge names the dialect of a request to a service; absent for `chat`. */
export const dialectHeader = 'x-gatehouse-dialect';

/** The dialect that a value of `dialectHeader` names; `chat` for any other value. */
export function dialectNamed(value: unknown): DialectName {
  return typeof value === 'string' && Object.hasOwn(keyHeaders, value) ? (value as DialectName) : 'chat';
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
