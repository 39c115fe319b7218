import { AppError, type ErrorCode } from './errors.ts';

export interface BodyBudgetOptions {
  /** Limit of request body bytes in memory for one tenant. */
  perTenant: number;
  /** Limit of request body bytes in memory for all tenants together. */
  perProcess: number;
  /** How long a body waits for others, in ms. Default: 30 seconds. */
  waitMs?: number;
  /** How long all counts a body announces, in ms. Default: ten seconds. */
  arrivalMs?: number;
  /** Called for each refusal with the error code. */
  onRefusal?: (code: ErrorCode) => void;
}

/** The share of one request body in the budget. */
export interface BodyShare {
  /** Charges received bytes. Throws like {@link BodyBudget.open} when they do not fit, without charging them. */
  grow(bytes: number): void;
  /** Releases all bytes. Later calls of any method have no effect. */
  release(): void;
}

/** The share of a body of a tenant. */
export interface TenantShare extends BodyShare {
  /** Opens a part for what is in memory for a while because of the body: it is charged to the share, and released before. */
  part(): BodyShare;
  /** Releases all but so many bytes: the rest of the body is no longer in memory. */
  shrink(bytes: number): void;
  /**
   * Sets the number of bytes of the body's copies in memory. They count against both limits but are never refused,
   * since the body has begun: larger bodies of others wait until they are gone.
   */
  copied(bytes: number): void;
  /**
   * Call before the body is read. Undefined if it may be read at once; otherwise a promise for when it may, or when the
   * share is released. Rejects like {@link BodyBudget.open} after `waitMs`, or when too many others wait.
   */
  enter(announcedBytes: number | null): Promise<void> | undefined;
}

/** Eight bodies of 31 MiB, each read in turns while providers take two seconds, need 20 seconds on a busy core. */
const defaultWaitMs = 30_000;
const defaultArrivalMs = 10_000;

/** Bodies up to this size do not wait behind larger ones, nor for copies of others. */
const smallBytes = 64 * 1024;

/**
 * Waiting bodies. Each has an uncharged piece in Node's buffers. A tenant has no more of these places than are free.
 */
const maxWaiting = { perTenant: 100, perProcess: 400 };

interface Wait {
  bytes: number;
  end: () => void;
}

interface Body {
  tenantId: string;
  /** Charged bytes. */
  bytes: number;
  /** Bytes of its copies. */
  copies: number;
  /** Announced bytes still to come. */
  announced: number;
  announcementTimer: NodeJS.Timeout | undefined;
  isOpen: boolean;
  wait: Wait | null;
}

/** Bytes and places one tenant has, or all of them. */
interface HeldBytes {
  bytes: number;
  copies: number;
  announced: number;
  waiting: number;
}

/**
 * Limits the bytes of request bodies in memory, per tenant and per process. A tenant never gets more of the process
 * than is free, which leaves room for one with little beside any with much. An announced body waits before it is read
 * until it fits, and next comes the one with which its tenant has least. Then all of it counts, so begun bodies never
 * wait for each other; after `arrivalMs` only the arrived bytes count, so a body never sent takes nothing for long. A
 * body always fits when no other body counts against the same limit, so a limit below the largest body of a route
 * admits these bodies one at a time.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions;
  /** Has no entry for a tenant without bytes, announcements and waiting bodies. */
  readonly #tenants = new Map<string, HeldBytes>();
  /** In the order in which they came. */
  readonly #waiting = new Set<Body>();
  readonly #all: HeldBytes = { bytes: 0, copies: 0, announced: 0, waiting: 0 };

  constructor(options: BodyBudgetOptions) {
    this.#options = options;
  }

  /**
   * Bytes charged in total with those of copies, and the number of tenants with bytes, announcements or waiting bodies.
   */
  get inUse(): { bytes: number; tenants: number } {
    return { bytes: this.#all.bytes + this.#all.copies, tenants: this.#tenants.size };
  }

  /**
   * Opens the share of one body. `bytes`: the bytes it has already, or null. Throws `rate_limit_exceeded` when they
   * exceed the free part of the tenant limit, and `service_unavailable` when its tenant would have more than is free of
   * the process limit.
   */
  open(tenantId: string, bytes: number | null): TenantShare {
    const body: Body = {
      tenantId,
      bytes: 0,
      copies: 0,
      announced: 0,
      announcementTimer: undefined,
      isOpen: true,
      wait: null,
    };
    if (bytes !== null) this.#check(body, bytes);
    return {
      part: () => this.#part(body),
      enter: (announced) => (body.isOpen ? this.#enter(body, announced ?? 0) : undefined),
      grow: (more) => {
        if (!body.isOpen) return;
        this.#check(body, more);
        this.#change(body, { bytes: more, announced: -Math.min(body.announced, more) });
      },
      shrink: (kept) => {
        if (!body.isOpen || kept >= body.bytes) return;
        this.#change(body, { bytes: kept - body.bytes });
        this.#admitWaiting();
      },
      copied: (bytes) => {
        if (!body.isOpen || bytes === body.copies) return;
        this.#change(body, { copies: bytes - body.copies });
        this.#admitWaiting();
      },
      release: () => {
        if (!body.isOpen) return;
        body.isOpen = false;
        clearTimeout(body.announcementTimer);
        body.wait?.end();
        this.#change(body, { bytes: -body.bytes, copies: -body.copies, announced: -body.announced });
        this.#admitWaiting();
      },
    };
  }

  #part(body: Body): BodyShare {
    let charged = 0;
    return {
      grow: (more) => {
        if (!body.isOpen) return;
        this.#check(body, more);
        this.#change(body, { bytes: more });
        charged += more;
      },
      release: () => {
        const bytes = Math.min(charged, body.bytes);
        charged = 0;
        if (!body.isOpen || bytes === 0) return;
        this.#change(body, { bytes: -bytes });
        this.#admitWaiting();
      },
    };
  }

  #tenantOf({ tenantId }: Body): HeldBytes {
    return this.#tenants.get(tenantId) ?? { bytes: 0, copies: 0, announced: 0, waiting: 0 };
  }

  #enter(body: Body, bytes: number): Promise<void> | undefined {
    if (bytes === 0) return undefined;
    const tenant = this.#tenantOf(body);
    const isNext = bytes <= smallBytes || tenant.waiting === 0;
    if (isNext && this.#exceeded(body, bytes) === null) {
      this.#announce(body, bytes);
      return undefined;
    }
    if (tenant.waiting >= Math.min(maxWaiting.perTenant, maxWaiting.perProcess - this.#all.waiting))
      return Promise.reject(this.#refusalOf(body, bytes));
    return this.#waitForCapacity(body, bytes);
  }

  #waitForCapacity(body: Body, bytes: number): Promise<void> {
    this.#waiting.add(body);
    this.#change(body, { waiting: 1 });
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        body.wait = null;
        this.#waiting.delete(body);
        resolve();
        this.#change(body, { waiting: -1 });
      };
      const timer = setTimeout(() => {
        reject(this.#refusalOf(body, bytes));
        end();
        this.#admitWaiting();
      }, this.#options.waitMs ?? defaultWaitMs).unref();
      body.wait = { bytes, end };
    });
  }

  /** Small bodies come at once. */
  #announce(body: Body, bytes: number): void {
    if (bytes <= smallBytes) return;
    this.#change(body, { announced: bytes });
    body.announcementTimer = setTimeout(() => {
      this.#change(body, { announced: -body.announced });
      this.#admitWaiting();
    }, this.#options.arrivalMs ?? defaultArrivalMs).unref();
  }

  /** Lets waiting bodies go on as far as they fit. */
  #admitWaiting(): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      this.#announce(next.body, next.wait.bytes);
      next.wait.end();
    }
  }

  /**
   * The body with which its tenant has least, of the fitting ones. A tenant's own keep their order, but for small ones.
   */
  #next(): { body: Body; wait: Wait } | null {
    let next: { body: Body; wait: Wait } | null = null;
    let least = Infinity;
    const seen = new Set<string>();
    for (const body of this.#waiting) {
      const { wait, tenantId } = body;
      if (wait === null || (seen.has(tenantId) && wait.bytes > smallBytes)) continue;
      seen.add(tenantId);
      const level = chargedBytes(this.#tenantOf(body)) + wait.bytes;
      if (level >= least || this.#exceeded(body, wait.bytes) !== null) continue;
      least = level;
      next = { body, wait };
    }
    return next;
  }

  #check(body: Body, bytes: number): void {
    const code = this.#exceeded(body, bytes);
    if (code !== null) throw this.#refusal(code);
  }

  #refusalOf(body: Body, bytes: number): AppError {
    return this.#refusal(this.#exceeded(body, bytes) ?? 'rate_limit_exceeded');
  }

  /** The limit a body would exceed with so many bytes more, of which it may have announced some. */
  #exceeded(body: Body, bytes: number): 'rate_limit_exceeded' | 'service_unavailable' | null {
    const more = bytes - body.announced;
    if (more <= 0) return null;
    const { perTenant, perProcess } = this.#options;
    // Copies may exceed a limit until a provider has read them: all small requests would stop for so long.
    const level = body.bytes + bytes <= smallBytes ? chargedWithoutCopies : chargedBytes;
    const [bodyLevel, processLevel] = [level(body), level(this.#all)];
    const tenantLevel = level(this.#tenantOf(body));
    if (tenantLevel > bodyLevel && tenantLevel + more > perTenant) return 'rate_limit_exceeded';
    return processLevel > bodyLevel && tenantLevel + more > perProcess - processLevel
      ? 'service_unavailable'
      : null;
  }

  #change(body: Body, { bytes = 0, copies = 0, announced = 0, waiting = 0 }: Partial<HeldBytes>): void {
    const tenant = this.#tenantOf(body);
    body.bytes += bytes;
    body.copies += copies;
    body.announced += announced;
    for (const held of [tenant, this.#all]) {
      held.bytes += bytes;
      held.copies += copies;
      held.announced += announced;
      held.waiting += waiting;
    }
    if (chargedBytes(tenant) > 0 || tenant.waiting > 0) this.#tenants.set(body.tenantId, tenant);
    else this.#tenants.delete(body.tenantId);
  }

  #refusal(code: 'rate_limit_exceeded' | 'service_unavailable'): AppError {
    this.#options.onRefusal?.(code);
    const whose = code === 'rate_limit_exceeded' ? 'your request bodies' : 'request bodies';
    return new AppError(code, `Too many bytes of ${whose} are in flight. Try again shortly.`, {
      retryAfterMs: 1_000,
    });
  }
}

type Level = Omit<HeldBytes, 'waiting'>;

/** Bytes counted against limits. */
function chargedBytes({ bytes, copies, announced }: Level): number {
  return bytes + copies + announced;
}

/** Bytes counted against limits for a small body. */
function chargedWithoutCopies({ bytes, announced }: Level): number {
  return bytes + announced;
}
