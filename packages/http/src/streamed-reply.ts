import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { clientLeft } from './body.ts';
import { type Pace, watchPace, type PaceCheck } from './pace-check.ts';
import type { AppError } from '@gatehouse/kit/errors';
import { takenBytes } from './unread-responses.ts';

export interface StreamedReply {
  headers: OutgoingHttpHeaders;
  /** Read as fast as the client reads them. */
  pieces: AsyncGenerator<string, void>;
  /** Cuts the response when it aborts. */
  signal?: AbortSignal;
  pace?: Pace;
}

/**
 * Sends a 200 with a body made piece by piece; a HEAD request gets no body. An error cuts the connection, so a client
 * never takes a part for the whole. Throws when the client leaves, or reads too slowly.
 */
export async function sendPieces(
  request: IncomingMessage,
  response: ServerResponse,
  { headers, pieces, ...options }: StreamedReply,
): Promise<void> {
  response.writeHead(200, headers);
  await sendStream(Readable.from(request.method === 'HEAD' ? [] : pieces), response, options);
}

/**
 * Sends the rest of a response from a stream, as fast as the client reads it. Cuts a client reading too slowly: it
 * would hold what the stream occupies. Throws `request_timeout` then, the reason of the signal, the error of the
 * stream, and `client_closed_request` when the client leaves.
 */
export async function sendStream(
  stream: Readable,
  response: ServerResponse,
  { signal, pace = leastReading }: Pick<StreamedReply, 'signal' | 'pace'> = {},
): Promise<void> {
  const cut = new AbortController();
  const stop = (): void => cut.abort(signal?.reason);
  signal?.addEventListener('abort', stop);
  const stopWatching = watchReader(response, pace, (error) => cut.abort(error));
  try {
    if (signal?.aborted === true) stop();
    await pipeline(stream, response, { signal: cut.signal });
  } catch (error) {
    cut.signal.throwIfAborted();
    throw response.destroyed && isPremature(error) ? clientLeft() : error;
  } finally {
    stopWatching();
    signal?.removeEventListener('abort', stop);
  }
}

function isPremature(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'ERR_STREAM_PREMATURE_CLOSE';
}

/**
 * Minimum rate at which a client reads a streamed reply, averaged over a window. The kernel reports progress in steps
 * of up to 1.5 MB where its send buffer has 4 MB at most, which is Linux's default (`net.ipv4.tcp_wmem`). So a client
 * reading 64 kB a second makes two of them in a window.
 */
const leastReading: Pace = { minBytesPerSecond: 25_000, windowMs: 60_000 };

/**
 * Enforces the minimum rate at which a client reads one response, until the returned function is called: `onSlow` is
 * called at most once, with `request_timeout`. Time in which nothing waits for the client doesn't count.
 */
function watchReader({ socket }: ServerResponse, pace: Pace, onSlow: (error: AppError) => void): () => void {
  let taken = socket === null ? 0 : takenBytes(socket);
  const counts = (check: PaceCheck): boolean => {
    if (socket === null) return false;
    const now = takenBytes(socket);
    check.note(now - taken);
    taken = now;
    return socket.writableLength > 0;
  };
  return watchPace(pace, { counts, slow: 'The response was read too slowly' }, onSlow);
}
