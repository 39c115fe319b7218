import type { Socket } from 'node:net';
import type { Logger } from '@gatehouse/kit/log';
import { counter, type Registry } from '@gatehouse/kit/metrics';

export interface UnreadResponses {
  /** A connection is closed when its client reads nothing of a pending response for this long. */
  timeoutMs: number;
  /** Called for each connection closed for this reason, with the number of unsent bytes. */
  onCut: (unreadBytes: number) => void;
}

/**
 * The kernel reports progress on a full socket in steps of about a third of its send buffer: 1.5 MB on a loopback
 * connection, which takes 75 s at 20 kB/s (measured). So a client gets three times the timeout after reading something.
 * So does the edge as the client of a service, because it reads on only after a step of its own client.
 */
const slowFactor = 3;

/** Handling of clients not reading: closes their connections, logs and counts them. */
export function unreadResponses(timeoutMs: number, log: Logger, registry: Registry): UnreadResponses {
  const cuts = counter(
    registry,
    'gatehouse_unread_responses_total',
    'Connections closed because the client did not read its response',
  );
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

/** The same for a service behind the edge, where it applies only when the edge hangs. */
export function unreadByEdge(timeoutMs: number, log: Logger, registry: Registry): UnreadResponses {
  return unreadResponses(timeoutMs * slowFactor, log, registry);
}

/**
 * The timeout is counted in sweeps instead of by the clock, so a suspended process does not close connections when it
 * resumes.
 */
export const sweepsPerTimeout = 8;

/**
 * Checks one connection for a response its client does not read. The socket timeout of Node detects a stalled write
 * only after up to two timeouts.
 */
export class UnreadCheck {
  readonly #socket: Socket;
  #taken = 0;
  #idleSweeps = 0;
  /** Whether the client has read something while more was waiting. */
  #reads = false;
  #waited = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Call `sweepsPerTimeout` times per timeout. Returns true when the client has read nothing for too long. */
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
 * Number of bytes accepted by the kernel. `socket.bytesWritten` also counts queued bytes, and the size of the write in
 * progress is only in these internal fields, which the socket timeout of Node reads for the same purpose.
 */
export function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: StreamHandle | null };
  return (handle?.bytesWritten ?? 0) - (handle?.writeQueueSize ?? 0);
}

interface StreamHandle {
  bytesWritten: number;
  writeQueueSize: number;
}
