import type { ServerResponse } from 'node:http';
import { AppError } from '@gatehouse/kit/errors';
import { PaceCheck, ticksPerWindow } from './pace-check.ts';
import { takenBytes } from './unread-responses.ts';

/**
 * Minimum rate at which a client reads a streamed reply, averaged over a window. The kernel reports progress in steps of
 * up to 1.5 MB, so a client that reads 64 kB a second makes two of them in a window.
 */
export const leastReading: ReaderPaceOptions = { minBytesPerSecond: 25_000, windowMs: 60_000 };

export interface ReaderPaceOptions {
  minBytesPerSecond: number;
  windowMs: number;
}

/**
 * Enforces the minimum rate at which a client reads one response, from construction until `stop`. Time in which nothing
 * waits for the client doesn't count.
 */
export class ReaderPace {
  readonly #timer: NodeJS.Timeout;

  /** Calls `onSlow` at most once, with `request_timeout`. */
  constructor(
    response: ServerResponse,
    { minBytesPerSecond, windowMs }: ReaderPaceOptions,
    onSlow: (error: AppError) => void,
  ) {
    const { socket } = response;
    const check = new PaceCheck((minBytesPerSecond * windowMs) / 1_000);
    let taken = socket === null ? 0 : takenBytes(socket);
    this.#timer = setInterval(() => {
      if (socket === null) return;
      const now = takenBytes(socket);
      check.note(now - taken);
      taken = now;
      if (socket.writableLength === 0 || !check.tick()) return;
      this.stop();
      onSlow(tooSlow(minBytesPerSecond, windowMs));
    }, windowMs / ticksPerWindow);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

function tooSlow(minBytesPerSecond: number, windowMs: number): AppError {
  return new AppError(
    'request_timeout',
    `The response was read too slowly: fewer than ${minBytesPerSecond} bytes per second over ${windowMs / 1_000} seconds.`,
  );
}
