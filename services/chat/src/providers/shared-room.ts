import { maxAnswerBytes } from '../bounds.ts';
import type { CallRoom } from './adapter.ts';

/** The memory of one answer, for the several calls it is made of. */
export class SharedRoom {
  readonly #room: CallRoom;
  readonly #shares: CallRoom[] = [];
  #held = 0;

  constructor(room: CallRoom) {
    this.#room = room;
    room.reader = { onRoom: () => this.#goOn() };
  }

  /** The room of one call at a time. Its `hold` throws if the answers are larger together than one may be. */
  open(): CallRoom {
    let held = 0;
    const share: CallRoom = {
      ...{ tenantId: this.#room.tenantId, reader: null },
      hold: (bytes) => {
        const difference = bytes - held;
        held = bytes;
        return this.keep(difference);
      },
      // Whole answers wait for no client.
      waitForClient: () => undefined,
    };
    this.#shares.push(share);
    return share;
  }

  /** Counts bytes to keep until the answer is joined. Returns whether the answers may be read on. */
  keep(bytes: number): boolean {
    this.#held += bytes;
    if (this.#held > maxAnswerBytes) throw new Error('the answers are too large together');
    const hasRoom = this.#room.hold(this.#held);
    if (hasRoom) this.#goOn();
    return hasRoom;
  }

  /** In a microtask: undici cannot resume one response while it parses another. */
  #goOn(): void {
    queueMicrotask(() => {
      for (const { reader } of this.#shares) reader?.onRoom();
    });
  }
}
