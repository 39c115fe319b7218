import { isFields, type Fields } from '@gatehouse/kit/fields';
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
    return new Response(mended(body), { status, headers });
  };
}

/**
 * The same for an authorization server's answer with tokens, by which many servers don't mean the letter of RFC 6749
 * §5.1 (modelcontextprotocol/typescript-sdk#1111, #1120): `token_type` is bearer without another word, and `expires_in`
 * counts if it is a time.
 */
export function tokenFetch(send: Fetch): Fetch {
  const sent = smallJsonFetch(send);
  return async (input, init) => {
    const response = await sent(input, init);
    const { status, headers } = response;
    if (status !== 200) return response;
    const fields = parsed(Buffer.from(await response.arrayBuffer()));
    const { expires_in: expiresIn, ...others } = fields ?? {};
    const seconds = Math.floor(Number(expiresIn));
    const isTime = seconds > 0 && Number.isFinite(seconds);
    const tokens = { token_type: 'Bearer', ...others, ...(isTime && { expires_in: seconds }) };
    return new Response(JSON.stringify(tokens), { status, headers });
  };
}

/** A JSON object without its null members, which mean absent ones, and which the client refuses; other bodies as they are. */
function mended(body: Buffer): Buffer {
  const members = Object.entries(parsed(body) ?? {});
  const present = members.filter(([, value]) => value !== null);
  return present.length === members.length ? body : Buffer.from(JSON.stringify(Object.fromEntries(present)));
}

function parsed(body: Buffer): Fields | null {
  try {
    const value: unknown = JSON.parse(body.toString());
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

/** `fetch` for responses with a status alone, whatever their body is. */
export function statusFetch(send: Fetch): Fetch {
  return async (input, init) => {
    const { status, body } = await send(input, init);
    await body?.cancel();
    return new Response(null, { status });
  };
}
