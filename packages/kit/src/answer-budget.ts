import { monotonicMs } from './clock.ts';

/** Answers up to this size are not counted. Most answers are smaller and take little memory. */
const exemptBytes = 64 * 1024;
/** How long an answer may take to be sent or read while other answers wait for memory. */
const clientPatienceMs = 10_000;
const checkEveryMs = 1_000;

export interface AnswerBudgetOptions {
  /** Bytes of large answers one tenant may have in memory at a time, and no more than are free then. */
  perTenant: number;
  /** Bytes of large answers all tenants together may have in memory at a time. */
  perProcess: number;
  /** The time in milliseconds; the monotonic clock by default. */
  now?: () => number;
}

interface TenantRooms {
  bytes: number;
  rooms: Set<AnswerRoom>;
}

/**
 * Limits the memory of large answers together. Past a limit, answers are not read on until others are delivered, except
 * for the one begun first. A tenant may take as much as it leaves free, but for the first of its answers: the more
 * tenants take, the less each of them may, and there is room for a new one. A client reading too slowly while others
 * wait is disconnected. One answer has a bound of its own, so the memory is at most the limit and one answer.
 */
export class AnswerBudget {
  readonly #options: AnswerBudgetOptions;
  /** Rooms with bytes, in the order in which they began; the same for each tenant. */
  readonly #rooms = new Set<AnswerRoom>();
  readonly #tenants = new Map<string, TenantRooms>();
  readonly #waiting = new Set<AnswerRoom>();
  #bytes = 0;
  /** Without the bytes of a tenant beyond its own limit, which take nothing from others. */
  #counted = 0;
  #watches = false;

  constructor(options: AnswerBudgetOptions) {
    this.#options = options;
  }

  /** Bytes of all large answers in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Answers waiting for the delivery of others. */
  get waiting(): number {
    return this.#waiting.size;
  }

  open(tenantId: string): AnswerRoom {
    return new AnswerRoom(tenantId, this);
  }

  now(): number {
    return (this.#options.now ?? monotonicMs)();
  }

  /** Called by rooms when the bytes held by `room` change. Returns whether its answer may be read on. */
  changed(room: AnswerRoom, difference: number): boolean {
    const tenant = this.#tenants.get(room.tenantId) ?? { bytes: 0, rooms: new Set() };
    this.#tenants.set(room.tenantId, tenant);
    const { perTenant } = this.#options;
    const before = Math.min(tenant.bytes, perTenant);
    tenant.bytes += difference;
    this.#bytes += difference;
    this.#counted += Math.min(tenant.bytes, perTenant) - before;
    if (room.held > 0) {
      this.#rooms.add(room);
      tenant.rooms.add(room);
    } else {
      this.#rooms.delete(room);
      tenant.rooms.delete(room);
      if (tenant.rooms.size === 0) this.#tenants.delete(room.tenantId);
    }
    this.#waiting.delete(room);
    const admitted = room.held === 0 || this.#admits(room, tenant);
    if (!admitted) {
      this.#waiting.add(room);
      this.#watch();
    }
    if (difference < 0) this.#resume();
    return admitted;
  }

  /** Disconnects peers after waiting ten seconds for them, as long as answers wait for memory. */
  cutSlowClients(): void {
    const now = this.now();
    for (const room of this.#rooms) {
      if (this.#waiting.size === 0) return;
      if (now - (room.clientSince ?? now) >= clientPatienceMs) room.client?.cut();
    }
  }

  #admits(room: AnswerRoom, tenant: TenantRooms): boolean {
    const [oldest] = this.#rooms;
    if (room === oldest) return true;
    const { perTenant, perProcess } = this.#options;
    const free = perProcess - this.#counted;
    const [oldestOfTenant] = tenant.rooms;
    const fitsTenant = tenant.bytes <= Math.min(perTenant, free) || room === oldestOfTenant;
    return fitsTenant && free >= 0;
  }

  #resume(): void {
    for (const room of this.#waiting) {
      const tenant = this.#tenants.get(room.tenantId);
      if (tenant === undefined || !this.#admits(room, tenant)) continue;
      this.#waiting.delete(room);
      // In a microtask: undici cannot resume one response while it parses another.
      queueMicrotask(() => {
        if (!this.#waiting.has(room)) room.reader?.onRoom();
      });
    }
  }

  /** Checks for slow clients once a second, as long as answers wait. */
  #watch(): void {
    if (this.#watches) return;
    this.#watches = true;
    setTimeout(() => {
      this.#watches = false;
      this.cutSlowClients();
      if (this.#waiting.size > 0) this.#watch();
    }, checkEveryMs).unref();
  }
}

/** Reads an answer. */
export interface AnswerReader {
  /** Called when a waiting answer may be read on. */
  onRoom(): void;
}

/** The peer at the other end: the client an answer is for, or the server it is from. */
export interface AnswerClient {
  /** Closes the connection: the peer is too slow for the memory the answer takes. */
  cut(): void;
}

/** The memory one answer takes. */
export class AnswerRoom {
  readonly tenantId: string;
  readonly #budget: AnswerBudget;
  reader: AnswerReader | null = null;
  client: AnswerClient | null = null;
  /** Since when the held bytes wait for the peer; null while they do not. */
  clientSince: number | null = null;
  #held = 0;
  #closed = false;

  constructor(tenantId: string, budget: AnswerBudget) {
    this.tenantId = tenantId;
    this.#budget = budget;
  }

  /** Held bytes, as the budget counts them. */
  get held(): number {
    return this.#held;
  }

  /** Sets the bytes held. Returns false if reading must pause until the reader's `onRoom` is called. */
  hold(bytes: number): boolean {
    if (this.#closed) return true;
    const counted = bytes <= exemptBytes ? 0 : bytes;
    const difference = counted - this.#held;
    if (counted === 0 && difference === 0) return true;
    this.#held = counted;
    return this.#budget.changed(this, difference);
  }

  /** Sets whether the held bytes wait for the peer. */
  waitForClient(waits: boolean): void {
    this.clientSince = waits ? (this.clientSince ?? this.#budget.now()) : null;
  }

  /** Releases everything; later calls have no effect. */
  close(): void {
    this.hold(0);
    this.#closed = true;
    // A room may outlive its removal from a set (ADR 21), and these hold the answer.
    this.reader = null;
    this.client = null;
  }
}
