import type { IncomingMessage } from 'node:http';
import { tooLarge } from './body.ts';
import { PaceWatch, type PaceOptions } from './pace-check.ts';

/**
 * Request body of at most `limit` bytes, as it arrives. The client waits while its reader is busy, and the wait does
 * not count towards its pace. Throws `payload_too_large`, `request_timeout`, and the error of the connection.
 */
export async function* streamBody(
  request: IncomingMessage,
  limit: number,
  pace: PaceOptions = {},
): AsyncGenerator<Buffer, void> {
  // Destroying the request would close the connection before the client has read the answer.
  const chunks = request.iterator({ destroyOnReturn: false });
  let fail: (error: unknown) => void = () => undefined;
  const watch = new PaceWatch(pace, (error) => fail(error));
  let size = 0;
  try {
    for (;;) {
      watch.waiting = true;
      const next = await new Promise<IteratorResult<Buffer, void>>((resolve, reject) => {
        fail = reject;
        (chunks.next() as Promise<IteratorResult<Buffer, void>>).then(resolve, reject);
      });
      // From here until the next read the reader is slow, not the client.
      watch.waiting = false;
      if (next.done === true) return;
      watch.note(next.value.length);
      size += next.value.length;
      if (size > limit) throw tooLarge(limit);
      yield next.value;
    }
  } finally {
    watch.stop();
    // Not awaited: after a timeout it settles only when more of the body arrives.
    chunks.return?.().catch(() => undefined);
  }
}
