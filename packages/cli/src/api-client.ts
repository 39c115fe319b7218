import { setTimeout } from 'node:timers/promises';
import { attempts, firstPauseMs, longestPauseMs } from './bounds.ts';
import type { Profile } from './profiles.ts';

/** An error response of the gateway: exit code 1. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | undefined;
  readonly requestId: string | undefined;

  constructor(parts: {
    status: number;
    code: string;
    message: string;
    param?: string | undefined;
    requestId?: string | undefined;
  }) {
    super(parts.message);
    this.status = parts.status;
    this.code = parts.code;
    this.param = parts.param;
    this.requestId = parts.requestId;
  }
}

/** The gateway can't be reached: exit code 1. */
export class UnreachableError extends Error {}

export interface ApiRequest {
  method: string;
  /** With the query. */
  path: string;
  body?: NonNullable<RequestInit['body']>;
  /** A body of JSON in place of `body`. */
  json?: unknown;
  contentType?: string;
  /** User the request acts for. */
  user?: string | undefined;
  /** Makes a repeat harmless: it gets the first answer. */
  idempotencyKey?: string | undefined;
  /** Whether it changes nothing, so a repeat is harmless. */
  isRepeatable?: boolean;
  headers?: Record<string, string>;
  /** For requests with a signature instead. */
  withoutKey?: boolean;
  signal?: AbortSignal;
}

/** Statuses after which another attempt may succeed; the gateway has done nothing. */
const passing = new Set([429, 502, 503]);

/** Requests to one gateway with one key. */
export class ApiClient {
  readonly #profile: Profile;
  readonly #version: string;
  readonly #signal: AbortSignal | undefined;

  /** `signal` ends requests without a signal of their own. */
  constructor(profile: Profile, version: string, signal?: AbortSignal) {
    this.#profile = profile;
    this.#version = version;
    this.#signal = signal;
  }

  /** The JSON of an answer; undefined for one without a body. */
  async json<Answered>(request: ApiRequest): Promise<Answered> {
    const response = await this.send(request);
    const text = await response.text();
    if (text === '') return undefined as Answered;
    try {
      return JSON.parse(text) as Answered;
    } catch {
      const { url } = this.#profile;
      throw new UnreachableError(`${url} does not answer with JSON. Is it the address of a gateway?`);
    }
  }

  /** All items of a list, from the page of the path to the last one. */
  async all<Item>(request: ApiRequest): Promise<Item[]> {
    const items: Item[] = [];
    const { pathname, searchParams } = new URL(request.path, 'http://gateway');
    for (;;) {
      const path = `${pathname}?${searchParams.toString()}`;
      const page = await this.json<{ data: Item[]; next_cursor?: string | null }>({ ...request, path });
      items.push(...page.data);
      if (typeof page.next_cursor !== 'string') return items;
      searchParams.set('cursor', page.next_cursor);
    }
  }

  /** Rejects with an `ApiError` for an error response. Tries again after temporary errors, if a repeat is harmless. */
  async send(request: ApiRequest): Promise<Response> {
    const { signal = this.#signal } = request;
    const isHarmless =
      request.method === 'GET' || request.idempotencyKey !== undefined || request.isRepeatable === true;
    for (let attempt = 1; ; attempt += 1) {
      const isLast = !isHarmless || attempt === attempts;
      const response = await this.#once(request, signal).catch((error: unknown) => {
        if (isLast || signal?.aborted === true) throw error;
        return undefined;
      });
      if (response?.ok === true) return response;
      if (response !== undefined && (isLast || !passing.has(response.status))) throw await errorOf(response);
      await response?.body?.cancel();
      const retryAfterMs = Number(response?.headers.get('retry-after') ?? 0) * 1_000;
      const pauseMs = Math.max(retryAfterMs, firstPauseMs * 2 ** attempt);
      if (response !== undefined && pauseMs > longestPauseMs) throw await errorOf(response);
      await setTimeout(pauseMs, undefined, signal && { signal });
    }
  }

  async #once(request: ApiRequest, signal: AbortSignal | undefined): Promise<Response> {
    const { method, path, json, user, contentType, idempotencyKey } = request;
    const body = json === undefined ? request.body : JSON.stringify(json);
    const type = json === undefined ? contentType : 'application/json';
    try {
      return await fetch(new URL(path, this.#profile.url), {
        method,
        headers: {
          ...(request.withoutKey !== true && { authorization: `Bearer ${this.#profile.key}` }),
          'user-agent': `gatehouse-cli/${this.#version}`,
          ...(type !== undefined && { 'content-type': type }),
          ...(user !== undefined && { 'x-service-user-id': user }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          ...request.headers,
        },
        ...(body !== undefined && { body }),
        ...(signal !== undefined && { signal }),
        redirect: 'error',
        // For streamed bodies.
        ...{ duplex: 'half' },
      });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      // Without a cause, the message may quote a header.
      const { cause } = error as Error & { cause?: Error };
      throw new UnreachableError(
        `${this.#profile.url} can't be reached: ${cause?.message ?? 'the request failed'}`,
      );
    }
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id') ?? undefined;
  const text = await response.text().catch(() => '');
  let error: ErrorMembers = {};
  try {
    error = errorIn(JSON.parse(text) as ErrorAnswer);
  } catch {
    // Something in front of the gateway has answered.
  }
  const { code = `http_${response.status}`, message = `${response.status} ${response.statusText}` } = error;
  const param = error.param ?? undefined;
  return new ApiError({ status: response.status, code, message, param, requestId });
}

interface ErrorMembers {
  code?: string;
  message?: string;
  param?: string | null;
}

interface ErrorAnswer {
  error?: ErrorMembers | string;
  error_description?: string;
}

/** Logins of programs have errors as OAuth has them (RFC 6749 §5.2). */
function errorIn({ error = {}, error_description: description }: ErrorAnswer): ErrorMembers {
  if (typeof error !== 'string') return error;
  return { code: error, ...(description !== undefined && { message: description }) };
}
