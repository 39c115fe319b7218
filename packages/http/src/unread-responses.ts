import type { Socket } from 'node:net';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, type Registry } from '@gatehouse/kit/metrics';

export interface UnreadResponses {
  /** A connection is closed when its client takes nothing of a waiting response for this long. */
  timeoutMs: number;
  /** Called for each connection that is closed for this, with the bytes that wait for its client. */
  onCut: (unreadBytes: number) => void;
}

/** What a service does about clients that don't read: closes their connections, logs and counts them. */
export function unreadResponses(timeoutMs: number, log: Logger, registry: Registry): UnreadResponses {
  const cuts = new Counter({
    name: 'gatehouse_unread_responses_total',
    help: 'Connections closed because the client did not read its response',
    registers: [registry],
  });
  return {
    timeoutMs,
    onCut: (unreadBytes) => {
      cuts.inc();
      log.warn(
        { unread_bytes: unreadBytes, timeout_ms: timeoutMs },
        'closed a connection with an unread response',
      );
    },
  };
}

/** The timeout is counted in sweeps, so that a process which was stopped and continues closes nothing for that. */
export const sweepsPerTimeout = 8;

/**
 * Watches one connection for a response that its client does not read. Node's own socket timeout would need up to twice
 * its time for this: it learns only when it ends whether a large write went on meanwhile, and then begins anew.
 */
export class UnreadCheck {
  readonly #socket: Socket;
  #taken = 0;
  #queued = 0;
  #idleSweeps = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Called `sweepsPerTimeout` times in a timeout: returns whether the client took nothing for a whole one. */
  sweep(): boolean {
    const { writableLength, bytesWritten } = this.#socket;
    // What the kernel took: all of the writes that are over, and a part of the one that is under way.
    const taken = bytesWritten - writableLength;
    const queued = queuedBytes(this.#socket);
    const idle = writableLength > 0 && taken === this.#taken && queued === this.#queued;
    this.#taken = taken;
    this.#queued = queued;
    this.#idleSweeps = idle ? this.#idleSweeps + 1 : 0;
    return this.#idleSweeps >= sweepsPerTimeout;
  }
}

/** How much of the write that is under way the kernel has not taken. Node keeps this to itself and uses it likewise. */
function queuedBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null };
  return handle?.writeQueueSize ?? 0;
}
