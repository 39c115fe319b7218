type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>;

/** Changing tokens. Both throw `McpFailure`. */
export interface BearerTokens {
  current: () => Promise<string>;
  /** Another token than the refused one. */
  renew: (refused: string) => Promise<string>;
}

/**
 * `fetch` with a token; once more with another one if the server refuses it. Not by the client's own means: these do
 * not say which token was refused, and one of several calls at the same time would end the token just obtained by
 * another.
 */
export function bearerFetch(send: Fetch, tokens: BearerTokens): Fetch {
  return async (input, init) => {
    const token = await tokens.current();
    const response = await send(input, withToken(init, token));
    if (response.status !== 401) return response;
    await response.body?.cancel();
    return send(input, withToken(init, await tokens.renew(token)));
  };
}

function withToken(init: RequestInit | undefined, token: string): RequestInit {
  const headers = new Headers(init?.headers);
  headers.set('authorization', `Bearer ${token}`);
  return { ...init, headers };
}
