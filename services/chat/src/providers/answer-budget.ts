/** Answers up to this size are not counted: most are, and what they take is little. */
const exemptBytes = 64 * 1024;

export interface AnswerBudgetOptions {
  /** Bytes of large answers that one tenant may have in memory at a time. */
  perTenant: number;
  /** Bytes of large answers that all tenants together may have in memory at a time. */
  perProcess: number;
}

/**
 * Limits the memory that large answers take together. Past a limit, answers are read no further until others are
 * delivered; the one that began first is always read on, so that none waits for ever and none fails for this. One answer
 * has a bound of its own, so the memory is at most the limit and one answer.
 */
export class AnswerBudget {
  readonly #options: AnswerBudgetOptions;
  /** Rooms that hold something, the one that began first in front. */
  readonly #rooms = new Set<AnswerRoom>();

  constructor(options: AnswerBudgetOptions) {
    this.#options = options;
  }

  open(tenantId: string): AnswerRoom {
    return new AnswerRoom(tenantId, this);
  }

  /** Whether the answer in `room` may be read on. */
  admits(room: AnswerRoom): boolean {
    const [oldest] = this.#rooms;
    if (room === oldest) return true;
    const rooms = [...this.#rooms];
    const ofTenant = rooms.filter(({ tenantId }) => tenantId === room.tenantId);
    const fitsTenant = sum(ofTenant) <= this.#options.perTenant || room === ofTenant[0];
    return fitsTenant && sum(rooms) <= this.#options.perProcess;
  }

  /** Called by rooms: `room` holds something now. */
  add(room: AnswerRoom): void {
    this.#rooms.add(room);
  }

  /** Called by rooms: `room` holds less, or nothing any more. */
  shrunk(room: AnswerRoom): void {
    if (room.held === 0) this.#rooms.delete(room);
    for (const other of this.#rooms) other.retry();
  }
}

/** Reads an answer. */
export interface AnswerReader {
  /** Called when an answer that had to wait may be read on. */
  onRoom(): void;
}

/** What one answer holds in memory. */
export class AnswerRoom {
  readonly tenantId: string;
  readonly #budget: AnswerBudget;
  #held = 0;
  #waits = false;
  #closed = false;
  reader: AnswerReader | null = null;

  constructor(tenantId: string, budget: AnswerBudget) {
    this.tenantId = tenantId;
    this.#budget = budget;
  }

  /** Bytes that count. */
  get held(): number {
    return this.#held;
  }

  /** Says how many bytes are held now. False: read no further until the reader's `onRoom` is called. */
  hold(bytes: number): boolean {
    if (this.#closed) return true;
    const before = this.#held;
    this.#held = bytes <= exemptBytes ? 0 : bytes;
    if (this.#held === 0 && before === 0) return true;
    if (before === 0) this.#budget.add(this);
    else if (this.#held < before) this.#budget.shrunk(this);
    this.#waits = this.#held > 0 && !this.#budget.admits(this);
    return !this.#waits;
  }

  /** Nothing is held any more, whatever is said later. */
  close(): void {
    this.hold(0);
    this.#closed = true;
  }

  /** Others hold less now. */
  retry(): void {
    if (!this.#waits || !this.#budget.admits(this)) return;
    this.#waits = false;
    // Not at once: undici cannot resume one response while it parses another.
    queueMicrotask(() => {
      if (!this.#waits) this.reader?.onRoom();
    });
  }
}

function sum(rooms: readonly AnswerRoom[]): number {
  return rooms.reduce((total, { held }) => total + held, 0);
}
