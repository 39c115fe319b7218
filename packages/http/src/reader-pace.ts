import type { ServerResponse } from 'node:http';
import type { AppError } from '@gatehouse/kit/errors';
import { watchPace, type Pace, type PaceCheck } from './pace-check.ts';
import { takenBytes } from './unread-responses.ts';

/**
 * Minimum rate at which a client reads a streamed reply, averaged over a window. The kernel reports progress in steps of
 * up to 1.5 MB where its send buffer has 4 MB at most, which is Linux's default (`net.ipv4.tcp_wmem`). So a client that
 * reads 64 kB a second makes two of them in a window.
 */
export const leastReading: Pace = { minBytesPerSecond: 25_000, windowMs: 60_000 };

/**
 * Enforces the minimum rate at which a client reads one response, until the returned function is called: `onSlow` is
 * called at most once, with `request_timeout`. Time in which nothing waits for the client doesn't count.
 */
export function watchReader(
  { socket }: ServerResponse,
  pace: Pace,
  onSlow: (error: AppError) => void,
): () => void {
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
