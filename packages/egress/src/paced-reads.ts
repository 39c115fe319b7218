import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { buildConnector } from 'undici';
import { longestTurnMs, pieceBytes, turnMs } from './bounds.ts';

const never = new AbortController().signal;

/**
 * Shares the event loop's time for reading among parties: tenants, and hosts before the tenant of an answer is known.
 */
class LoopShare {
  /** Next comes the party with the least time so far. Its connections are as many as its calls. */
  readonly #turns = new FairQueue({ perKey: 1, slots: 1, maxWaiting: Infinity });
  /** Undefined until something is read in this turn of the loop. */
  #endsAt: number | undefined;
  #usedMs = 0;
  #isTurn = false;

  /** Whether more may be read at this time. */
  isLeftAt(now: number): boolean {
    return (this.#isTurn || this.#turns.size === 0) && this.#hasTime(now);
  }

  /** Counts the parser's time for a piece. */
  use(ms: number): void {
    this.#usedMs += Math.min(turnMs, ms);
  }

  /** Calls `read` when the turn of the party has come. Those of several share a turn of the loop while it has time. */
  async wait(party: string, read: () => void): Promise<void> {
    const work = async (): Promise<void> => {
      if (!this.#hasTime(performance.now())) await nextTurn();
      this.#isTurn = true;
      try {
        read();
      } finally {
        this.#isTurn = false;
      }
    };
    await this.#turns.run(party, work, never);
  }

  /** Whether this turn of the loop has time to read. */
  #hasTime(now: number): boolean {
    if (this.#endsAt === undefined) {
      this.#usedMs = 0;
      this.#endsAt = now + longestTurnMs;
      // Without a promise: this is done for each piece of a short answer.
      setImmediate(() => {
        this.#endsAt = undefined;
      });
    }
    return this.#usedMs < turnMs && now < this.#endsAt;
  }
}

const share = new LoopShare();

/** The party reading an answer on a connection. */
interface ReadingParty {
  tenantId: string;
}

interface Connection {
  reader: ReadingParty | null;
}

/** The connection of the piece in the parser at the moment. */
let current: Connection | null = null;

/**
 * Lets a connection be read in the turns of `tenantId`, so the answers of a tenant with many make those of another one
 * no later. To be called synchronously when the headers of an answer arrive. Returns a function to end it.
 */
export function readFor(tenantId: string): () => void {
  const connection = current;
  if (connection === null) return nothing;
  const reader = { tenantId };
  connection.reader = reader;
  return () => {
    // Another answer may have begun.
    if (connection.reader === reader) connection.reader = null;
  };
}

function partyOf({ tenantId }: ReadingParty): string {
  return JSON.stringify(['tenant', tenantId]);
}

function nothing(): void {
  // The answer is not read from a paced connection.
}

/**
 * Settings of undici for hosts free to answer anything: responses of these connections are read in small pieces, and in
 * turns of the event loop with all others: by host, and by tenant where `readFor` names the tenant of the answer.
 * undici reads chunks of 64 KiB at once, and the shortest headers beyond its limit take 10 µs each: 48 responses would
 * stop the process for 13 s. HTTP/2 cannot be paced, and has no limit of headers.
 */
export function pacedConnections(options: buildConnector.BuildOptions): {
  connect: buildConnector.connector;
  allowH2: false;
} {
  const connect = buildConnector({ ...options, allowH2: false });
  return {
    connect: (target, callback) =>
      connect(target, (...connected) => {
        if (connected[0] === null) paceReads(connected[1], target.host ?? target.hostname);
        callback(...connected);
      }),
    allowH2: false,
  };
}

function paceReads(socket: Socket, host: string): void {
  const read = socket.read.bind(socket) as (size?: number) => unknown;
  let waits = false;
  /** When the parser got its current piece. It asks for another one after each. */
  let readAt: number | undefined;
  const connection: Connection = { reader: null };
  const resume = (): void => {
    waits = false;
    if (!socket.destroyed) socket.emit('readable');
  };
  const paced = (size?: number): unknown => {
    if (size === 0) return read(0);
    const now = performance.now();
    if (readAt !== undefined) share.use(now - readAt);
    readAt = undefined;
    current = null;
    // The parser goes on where it has closed the connection.
    if (socket.destroyed || waits) return null;
    if (!share.isLeftAt(now)) {
      waits = true;
      void share.wait(connection.reader === null ? host : partyOf(connection.reader), resume);
      return null;
    }
    const piece = read(size ?? (socket.readableLength > pieceBytes ? pieceBytes : undefined));
    if (piece !== null) {
      readAt = now;
      current = connection;
    }
    return piece;
  };
  socket.read = paced;
}
