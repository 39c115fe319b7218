import type { AnswerReader } from '@gatehouse/kit/answer-budget';
import type { CallRoom } from './adapter.ts';
import { maxAnswerBytes } from '../bounds.ts';

/** The memory of one answer, for several calls that make it together. */
export class SharedRoom implements AnswerReader {
  readonly #room: CallRoom;
  readonly #shares: Share[] = [];
  #held = 0;

  constructor(room: CallRoom) {
    this.#room = room;
    room.reader = this;
  }

  get tenantId(): string {
    return this.#room.tenantId;
  }

  /** The room of one call at a time. */
  open(): CallRoom {
    const share = new Share(this);
    this.#shares.push(share);
    return share;
  }

  /** Counts bytes that stay until the answer is joined. */
  keep(bytes: number): void {
    this.change(bytes);
  }

  /** Returns whether the answers may be read on. Throws if they are larger than one answer may be. */
  change(difference: number): boolean {
    this.#held += difference;
    if (this.#held > maxAnswerBytes) throw new Error('the answers are too large together');
    const hasRoom = this.#room.hold(this.#held);
    if (hasRoom) this.onRoom();
    return hasRoom;
  }

  onRoom(): void {
    for (const share of this.#shares) share.goOn();
  }
}

class Share implements CallRoom {
  reader: AnswerReader | null = null;
  readonly #shared: SharedRoom;
  #held = 0;
  #waits = false;

  constructor(shared: SharedRoom) {
    this.#shared = shared;
  }

  get tenantId(): string {
    return this.#shared.tenantId;
  }

  hold(bytes: number): boolean {
    const difference = bytes - this.#held;
    this.#held = bytes;
    this.#waits = !this.#shared.change(difference);
    return !this.#waits;
  }

  waitForClient(): void {
    // Whole answers wait for no client.
  }

  /** Reads on, if it had to wait. */
  goOn(): void {
    if (!this.#waits) return;
    this.#waits = false;
    // In a microtask: undici cannot resume one response while it parses another.
    queueMicrotask(() => this.reader?.onRoom());
  }
}
