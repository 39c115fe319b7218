import { isLarger } from '@gatehouse/kit/json-size';
import type { egressFetch } from './egress-fetch.ts';
import { McpFailure } from './failure.ts';

type Fetch = ReturnType<typeof egressFetch>;

/** Metadata of large authorization servers has some hundred values. */
const most = { values: 2_000, depth: 16 };

/** `fetch` for responses with few values, since the client describes each wrong one. Throws `McpFailure` for others. */
export function smallJsonFetch(send: Fetch): Fetch {
  return async (input, init) => {
    const response = await send(input, init);
    if (response.body === null) return response;
    const body = Buffer.from(await response.arrayBuffer());
    if (isLarger(body, most)) throw new McpFailure('too_large');
    const { status, headers } = response;
    return new Response(body, { status, headers });
  };
}

/** `fetch` for responses with a status alone, whatever their body is. */
export function statusFetch(send: Fetch): Fetch {
  return async (input, init) => {
    const { status, body } = await send(input, init);
    await body?.cancel();
    return new Response(null, { status });
  };
}
