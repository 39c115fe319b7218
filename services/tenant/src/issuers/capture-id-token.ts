import { isFields } from '@gatehouse/kit/fields';
import type { guardedFetch } from './guarded-fetch.ts';

type Fetch = ReturnType<typeof guardedFetch>;

/**
 * `fetch` for one request of tokens, which takes the ID token out of the answer. The library would check it, and drop
 * the refresh token beside one that fails.
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
