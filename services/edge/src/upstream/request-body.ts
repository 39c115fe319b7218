import type { IncomingMessage } from 'node:http';
import { hasBody, readBody, tooLarge } from '@gatehouse/http/body';

/** Small bodies are gathered: one write is cheaper than a stream, and it can be sent again to another replica. */
const gatherBytes = 64 * 1024;

/** A request's body for a service: the bytes, or a stream that throws `payload_too_large` past the limit. */
export async function requestBody(
  request: IncomingMessage,
  limit: number,
): Promise<Buffer | AsyncIterable<Buffer> | null> {
  if (!hasBody(request)) return null;
  const length = Number(request.headers['content-length'] ?? Infinity);
  return length <= gatherBytes ? readBody(request, limit) : limited(request, limit);
}

async function* limited(request: IncomingMessage, limit: number): AsyncIterable<Buffer> {
  let size = 0;
  // Destroying the request on an early end would take the connection, and with it our answer, away from the client.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const bytes = chunk as Buffer;
    size += bytes.length;
    if (size > limit) throw tooLarge(limit);
    yield bytes;
  }
}
