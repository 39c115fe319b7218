import type { Egress } from '@gatehouse/egress/egress';
import { EgressError } from '@gatehouse/egress/errors';
import { streamMs } from '../bounds.ts';

export interface EgressFetchOptions {
  egress: Egress;
  tenantId: string;
  /** For a request and its response, and for a silence in it. */
  timeoutMs: number;
  /** Bytes of the body of a response. */
  maxBytes: number;
}

const nullBody = new Set([204, 205, 304]);

/** `fetch` for the MCP client: the guard, the sizes and the times of `packages/egress`, and no redirects. */
export function egressFetch({ egress, tenantId, timeoutMs, maxBytes }: EgressFetchOptions) {
  return async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const method = init.method ?? 'GET';
    if (method !== 'GET' && method !== 'POST' && method !== 'DELETE')
      throw new EgressError('invalid_request');
    // The client gives texts and forms only.
    const { body: initBody } = init;
    const body =
      typeof initBody === 'string' || initBody instanceof URLSearchParams
        ? Buffer.from(String(initBody))
        : undefined;
    const limitMs = method === 'GET' ? streamMs : timeoutMs;
    const response = await egress.open({
      tenantId,
      method,
      url: new URL(input),
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(body !== undefined && { body }),
      ...(init.signal && { signal: init.signal }),
      timeoutMs: limitMs,
      idleMs: limitMs,
      maxBytes,
    });
    const { status, headers } = response;
    if (!nullBody.has(status)) return new Response(response.body, { status, headers });
    await response.body.cancel();
    return new Response(null, { status, headers });
  };
}
