import type { Socket } from 'node:net';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, type Registry } from '@gatehouse/kit/metrics';

export interface UnreadResponses {
  /** A connection is closed when its client takes nothing of a waiting response for this long. */
  timeoutMs: number;
  /** Called for each connection that is closed for this, with the bytes that wait for its client. */
  onCut: (unreadBytes: number) => void;
}

/**
 * The kernel reports progress on a full socket in steps of about a third of its send buffer: 1.5 MB on a loopback
 * connection, which a client at 20 kB/s takes 75 s for (measured). So a client that was seen to take something has
 * three times as long, and so has the edge, which reads on from a service when its own client has made such a step.
 */
const slowFactor = 3;

/** What the edge does about clients that don't read: closes their connections, logs and counts them. */
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

/** The same for a service behind the edge, where it matters only when the edge itself hangs. */
export function unreadByEdge(timeoutMs: number, log: Logger, registry: Registry): UnreadResponses {
  return unreadResponses(timeoutMs * slowFactor, log, registry);
}

/** The timeout is counted in sweeps, so that a process which was stopped and continues closes nothing for that. */
export const sweepsPerTimeout = 8;

/**
 * Watches one connection for a response that its client does not read. Node's socket timeout detects a stalled write
 * only after up to two timeouts.
 */
export class UnreadCheck {
  readonly #socket: Socket;
  #taken = 0;
  #idleSweeps = 0;
  /** Whether the client took something while more was waiting. */
  #reads = false;
  #waited = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Called `sweepsPerTimeout` times in a timeout: returns whether the client took nothing for too long. */
  sweep(): boolean {
    const taken = takenBytes(this.#socket);
    const waits = this.#socket.writableLength > 0;
    const idle = waits && this.#waited && taken === this.#taken;
    this.#reads = waits && this.#waited && (this.#reads || !idle);
    this.#idleSweeps = idle ? this.#idleSweeps + 1 : 0;
    this.#taken = taken;
    this.#waited = waits;
    return this.#idleSweeps >= sweepsPerTimeout * (this.#reads ? slowFactor : 1);
  }
}

/**
 * How many bytes the kernel took. `socket.bytesWritten` counts all that was written, and Node keeps the queue of the
 * write that is under way to itself: its own socket timeout reads these two fields for the same purpose.
 */
function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: StreamHandle | null };
  return (handle?.bytesWritten ?? 0) - (handle?.writeQueueSize ?? 0);
}

interface StreamHandle {
  bytesWritten: number;
  writeQueueSize: number;
}
