import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { clientLeft } from './body.ts';

export interface StreamedReply {
  headers: OutgoingHttpHeaders;
  /** Read as fast as the client reads them. */
  pieces: AsyncGenerator<string, void>;
  /** Cuts the response when it aborts. */
  signal?: AbortSignal;
}

/**
 * Sends a 200 whose body is made piece by piece; a HEAD request gets none of it. An error cuts the connection, so that
 * a client never takes a part for the whole. Throws when the client leaves.
 */
export async function sendPieces(
  request: IncomingMessage,
  response: ServerResponse,
  { headers, pieces, signal }: StreamedReply,
): Promise<void> {
  response.writeHead(200, headers);
  const body = Readable.from(request.method === 'HEAD' ? [] : pieces);
  try {
    await pipeline(body, response, { ...(signal !== undefined && { signal }) });
  } catch (error) {
    signal?.throwIfAborted();
    throw response.destroyed && isPremature(error) ? clientLeft() : error;
  }
}

function isPremature(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
