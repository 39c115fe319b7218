import { unlessAborted } from '@gatehouse/kit/clock';
import type { AnswerRoom } from '@gatehouse/kit/answer-budget';
import { McpFailure } from './failure.ts';
import type { MessageReader } from './message-reader.ts';

/** The memory taken by a body of a server while it is read. */
export class BodyRoom {
  readonly #room: AnswerRoom;
  readonly signal: AbortSignal;

  constructor(reader: MessageReader, tenantId: string, signal: AbortSignal) {
    const cut = new AbortController();
    this.signal = AbortSignal.any([signal, cut.signal]);
    this.#room = reader.openRoom(tenantId, () => cut.abort(new McpFailure('busy')));
  }

  /**
   * The pieces of a body. Throws the reason of the signal, also while a piece is awaited, and `busy` if the server is slow
   * while others wait for the memory.
   */
  async *pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    const reader = body.getReader();
    try {
      for (;;) {
        const { done, value } = await unlessAborted(this.signal, reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  /** Notes how much is in memory, and waits until it may be more. Throws as `pieces` does. */
  async hold(bytes: number): Promise<void> {
    // An event has ended: the server has its time for the next one.
    if (bytes < this.#room.held) this.#room.waitForClient(false);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#room.reader = { onRoom: () => resolve(undefined) };
    if (!this.#room.hold(bytes)) {
      // The wait is for others, not for the server.
      this.#room.waitForClient(false);
      await unlessAborted(this.signal, promise);
    }
    this.#room.waitForClient(this.#room.held > 0);
  }

  /** Nothing more is awaited of the server. */
  arrived(): void {
    this.#room.waitForClient(false);
  }

  close(): void {
    this.#room.close();
  }
}
