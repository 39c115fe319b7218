import { isFields } from '@gatehouse/kit/fields';
import type { Egress } from '@gatehouse/egress/egress';
import { issuerAnswerBytes, issuerTimeoutMs } from '../bounds.ts';

/** The parts of a request used by the libraries of OpenID Connect. */
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
      ...{ maxBytes: issuerAnswerBytes, timeoutMs: issuerTimeoutMs },
    });
    const hasBody = response.body.length > 0 && status !== 204 && status !== 304;
    return new Response(hasBody ? new Uint8Array(response.body) : null, { status, headers: answered });
  };
}

type Fetch = ReturnType<typeof guardedFetch>;

/**
 * `fetch` for one request of tokens, which takes the ID token out of the answer. The library would check it, and drop
 * the refresh token beside an invalid one.
 */
export function idTokenApart(send: Fetch): { fetch: Fetch; idToken: () => string | null } {
  let idToken: string | null = null;
  const fetch: Fetch = async (url, init) => {
    const response = await send(url, init);
    const body: unknown = await response
      .clone()
      .json()
      .catch(() => null);
    if (!response.ok || !isFields(body) || typeof body['id_token'] !== 'string') return response;
    const { id_token: taken, ...rest } = body;
    idToken = taken;
    return new Response(JSON.stringify(rest), { status: response.status, headers: response.headers });
  };
  return { fetch, idToken: () => idToken };
}
