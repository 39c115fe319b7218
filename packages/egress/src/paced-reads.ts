import type { Socket } from 'node:net';

/** How long a process reads responses in one turn of its event loop. */
const turnMs = 10;
/** A piece that the parser of HTTP reads in up to 20 ms, whatever it is. */
const pieceBytes = 4 * 1024;

/** Shares the time of a turn of the event loop among sockets. */
class LoopShare {
  /** Undefined until something is read in this turn. */
  #endsAt: number | undefined;
  #waiting: (() => void)[] = [];

  /** Whether more may be read in this turn. */
  get isLeft(): boolean {
    if (this.#endsAt === undefined) {
      this.#endsAt = performance.now() + turnMs;
      setImmediate(() => this.#next());
    }
    return performance.now() < this.#endsAt;
  }

  /** Calls `resume` in the next turn, after those that wait already. */
  wait(resume: () => void): void {
    this.#waiting.push(resume);
  }

  #next(): void {
    this.#endsAt = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }
}

const share = new LoopShare();

/**
 * Lets undici read from a socket in small pieces, and in turns of the event loop with all others. It reads whole chunks of
 * 64 KiB at once, and the shortest headers beyond its limit take 10 µs each: 48 responses would stop the process for
 * 13 s.
 */
export function paceReads(socket: Socket): void {
  const read = socket.read.bind(socket) as (size?: number) => unknown;
  let waits = false;
  const resume = (): void => {
    waits = false;
    if (!socket.destroyed) socket.emit('readable');
  };
  const paced = (size?: number): unknown => {
    if (size === 0) return read(0);
    // The parser goes on where it has closed the connection.
    if (socket.destroyed) return null;
    if (waits || !share.isLeft) {
      if (!waits) share.wait(resume);
      waits = true;
      return null;
    }
    return read(size ?? (socket.readableLength > pieceBytes ? pieceBytes : undefined));
  };
  socket.read = paced;
}
