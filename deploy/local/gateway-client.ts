import { setTimeout as sleep } from 'node:timers/promises';

export interface GatewayReply {
  status: number;
  /** The parsed body. */
  body: Record<string, unknown>;
}

const callTimeoutMs = 10_000;
const patienceMs = 20_000;
const retryMs = 200;

/** A client of the gateway's API for the first steps. Retries 502, 503 and 504 for up to 20 s. */
export class GatewayClient {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async call(key: string, method: string, path: string, body?: unknown): Promise<GatewayReply> {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const reply = await this.#once(key, method, path, body);
      if (reply.status < 502 || reply.status > 504 || Date.now() > deadline) return reply;
      await sleep(retryMs);
    }
  }

  async #once(key: string, method: string, path: string, body: unknown): Promise<GatewayReply> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(callTimeoutMs),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  }
}

/** Returns the body of a successful response; throws the error message of the gateway otherwise. */
export function expectSuccess(reply: GatewayReply, what: string): Record<string, unknown> {
  if (reply.status < 300) return reply.body;
  const error = reply.body['error'] as { message?: string } | undefined;
  throw new Error(`${what} failed: ${error?.message ?? 'no reason given'} (status ${reply.status})`);
}
