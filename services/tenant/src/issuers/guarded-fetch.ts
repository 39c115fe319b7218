import type { Egress } from '@gatehouse/egress/egress';

const maxBytes = 512 * 1024;
const timeoutMs = 8_000;

/** The parts of a request that the libraries of OpenID Connect use. */
interface FetchInit {
  method?: string;
  headers?: ConstructorParameters<typeof Headers>[0];
  body?: unknown;
  signal?: AbortSignal | null;
}

/** `fetch` for those libraries, through the one guarded way out. A redirect is returned, not followed. */
export function guardedFetch(egress: Egress): (url: string, init?: FetchInit) => Promise<Response> {
  return async (url, { method = 'GET', headers, body, signal } = {}) => {
    const text = body instanceof URLSearchParams ? body.toString() : body;
    const {
      status,
      headers: answered,
      ...response
    } = await egress.request({
      ...{ tenantId: null, method: method === 'POST' ? 'POST' : 'GET', url: new URL(url) },
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof text === 'string' && { body: Buffer.from(text) }),
      ...(signal !== undefined && signal !== null && { signal }),
      ...{ maxBytes, timeoutMs },
    });
    const hasBody = response.body.length > 0 && status !== 204 && status !== 304;
    return new Response(hasBody ? new Uint8Array(response.body) : null, { status, headers: answered });
  };
}
