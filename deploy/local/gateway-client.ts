import { once } from 'node:events';
import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
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
  readonly #certificate: Buffer | undefined;

  /**
   * `certificate`: that of an https URL, in PEM. It is trusted as it is, with any name and from any CA, and
   * no other one is.
   */
  constructor(url: string, certificate?: Buffer) {
    this.#url = url;
    this.#certificate = certificate;
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
    const sent = this.#request(path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(callTimeoutMs),
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
    return {
      status: response.statusCode ?? 0,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  }

  #request(path: string, options: RequestOptions) {
    const url = new URL(path, this.#url);
    if (this.#certificate === undefined) return requestHttp(url, options);
    const trust = { ca: this.#certificate, allowPartialTrustChain: true };
    return requestHttps(url, { ...options, ...trust, checkServerIdentity: () => undefined });
  }
}

/** Returns the body of a successful response; throws the error message of the gateway otherwise. */
export function expectSuccess(reply: GatewayReply, what: string): Record<string, unknown> {
  if (reply.status < 300) return reply.body;
  const error = reply.body['error'] as { message?: string } | undefined;
  throw new Error(`${what} failed: ${error?.message ?? 'no reason given'} (status ${reply.status})`);
}
