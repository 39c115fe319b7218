import type { Socket } from 'node:net';
import type { Server } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { minuteMs } from './bounds.ts';
import { monotonicMs } from './clock.ts';
import type { Logger } from './log.ts';
import { atMost } from './recent-map.ts';

/** Remembered reasons. */
const maxReasons = 100;

/**
 * Logs why connections between services fail, on either side: each reason once a minute, since clients try again at
 * once.
 */
export class RefusedConnections {
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #loggedAt = new LRUCache<string, number>(atMost(maxReasons));

  constructor(log: Logger, now: () => number = monotonicMs) {
    this.#log = log;
    this.#now = now;
  }

  /** A connection to another service failed. */
  outgoing(peer: string, reason: string): void {
    if (this.#isDue(`${peer}: ${reason}`)) this.#log.error({ peer, reason }, 'no connection to a service');
  }

  /** A client has no certificate of an allowed service, or has refused the one of this service. */
  incoming(address: string | undefined, reason: string): void {
    if (this.#isDue(reason)) this.#log.error({ address, reason }, 'no connection from a service');
  }

  /** Logs failed handshakes of a server for clients with certificates. */
  watch(server: Server): void {
    // A closed socket has no address unless it was read before.
    server.on('connection', (socket: Socket) => void socket.remoteAddress);
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: EndedSocket) => {
      const reason = socket.authorizationError ?? reasonOf(error);
      this.incoming(socket.remoteAddress ?? socket._parent?.remoteAddress, reason);
    });
  }

  #isDue(reason: string): boolean {
    if (this.#now() - (this.#loggedAt.get(reason) ?? -Infinity) < minuteMs) return false;
    this.#loggedAt.set(reason, this.#now());
    return true;
  }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ECONNRESET') return 'the client ended the handshake, as for a certificate that it refuses';
  return code ?? message;
}

/** A connection with a failed handshake, as Node's servers report it. */
interface EndedSocket {
  /** A code, though Node's types have an error. */
  authorizationError: string | null | undefined;
  remoteAddress?: string;
  /** The socket under it, which knows the address after it was closed. */
  _parent?: { remoteAddress?: string };
}
