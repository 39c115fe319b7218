import { cacheKey } from '@gatehouse/kit/cache-key';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { KeyOutcome } from './call-metrics.ts';
import type { Choices, Member } from './choice.ts';
import type { Credentials } from './credentials.ts';
import type { CallScope } from './findings.ts';
import { spentKey, wrongKey } from './key-status.ts';
import { ProviderFailure } from './provider-failure.ts';
import { Cooldowns, type Cooldown } from './cooldowns.ts';

/** A key as the catalogue has it. */
export interface KeySource {
  credentials: Credentials;
  /** The name by which what was made with the key is known, whatever its position. */
  readonly id: string;
  readonly weight: number;
  /**
   * Changes with the text of the key; reads a file again if the last reading was long ago. Absent for unchanging keys.
   */
  version?: () => number;
}

/** A key of a pool. */
export interface PoolKey extends KeySource, Member {
  /** From 1, by which logs, metrics and events name it. */
  position: number;
  rests: Cooldowns;
}

export interface KeyPoolOptions {
  provider: string;
  keys: readonly KeySource[];
  choices: Choices;
  /** Called when the provider begins to refuse a key. */
  onFailing: (position: number, status: number | null) => void;
  /** Called for each call with a key. */
  onUsed?: (position: number, outcome: KeyOutcome) => void;
  /** Whether the key is the tenant's own. */
  isOwn?: boolean;
  now?: () => number;
}

export interface KeyedCall extends CallScope {
  affinity: string | null;
}

/** The statuses by which a provider refuses a key, and not the request. */
const refusals: ReadonlySet<number> = new Set([wrongKey, spentKey, 403, 429]);

/** The keys of one provider. Each replica has its own state, since no answer depends on it. */
export class KeyPool {
  readonly #options: KeyPoolOptions;
  readonly #keys: readonly PoolKey[];
  readonly #versions = new Map<PoolKey, number>();
  readonly #failing = new Set<PoolKey>();
  readonly #now: () => number;

  constructor(options: KeyPoolOptions) {
    this.#options = options;
    this.#now = options.now ?? monotonicMs;
    this.#keys = options.keys.map((key, index) => ({
      ...{ ...key, position: index + 1, name: String(index + 1), rests: new Cooldowns(this.#now) },
    }));
  }

  get provider(): string {
    return this.#options.provider;
  }

  /** Begins a call. Its keys are tried in the order of its session. */
  selectKey(call: KeyedCall): KeyRotation {
    for (const key of this.#keys) this.#renew(key);
    return new KeyRotation(this, call, this.#options.choices.order(this.#group, this.#keys, call.affinity));
  }

  /** The names of the keys. */
  get ids(): readonly string[] {
    return this.#keys.map(({ id }) => id);
  }

  /** The key with a name, whether it rests or not. */
  named(id: string | undefined): PoolKey | undefined {
    return this.#keys.find((key) => key.id === id);
  }

  /** The keys, and how each rests for a model, or for any. `restsForMs`: null unless the key rests. */
  states(
    model?: string,
  ): { position: number; reason: Cooldown['reason'] | null; restsForMs: number | null }[] {
    return this.#keys.map(({ position, rests }) => {
      const rest = model === undefined ? rests.longest : rests.modelCooldown(model);
      const restsForMs = rest === null ? null : rest.until - this.#now();
      return { position, reason: rest?.reason ?? null, restsForMs };
    });
  }

  accepted(key: PoolKey, { affinity, ...call }: KeyedCall, wasFirst: boolean): void {
    this.#options.onUsed?.(key.position, 'accepted');
    key.rests.accepted(call);
    // It may still be refused for other calls, which is reported already.
    if (this.#failing.has(key) && key.rests.longest === null) this.#failing.delete(key);
    if (affinity !== null && this.#keys.length > 1)
      this.#options.choices.served(this.#group, key.name, { affinity, wasFirst });
  }

  /** Lets a key rest after a failure. Returns whether it may be used again at once, since another is in its place. */
  refused(key: PoolKey, call: CallScope, { kind, details }: ProviderFailure): boolean {
    const reason = kind === 'status' && details.status === 429 ? 'limited' : 'refused';
    if (details.isStale === true) {
      this.#renew(key);
      return true;
    }
    this.#options.onUsed?.(key.position, reason);
    key.rests.refused(call, reason, details.retryAfterMs);
    if (reason === 'refused' && !this.#failing.has(key)) {
      this.#failing.add(key);
      this.#options.onFailing(key.position, details.status ?? null);
    }
    return false;
  }

  /** The failure of a call without a key left: the soonest time to use one, else the refusal of all. */
  exhausted(call: CallScope): ProviderFailure {
    const rests = this.#keys.map((key) => key.rests.cooldownOf(call));
    if (rests.every((rest) => rest?.reason === 'refused'))
      return this.#options.isOwn === true
        ? new ProviderFailure('own_key', this.provider)
        : new ProviderFailure('status', this.provider, { status: wrongKey, isResting: true });
    const now = this.#now();
    const soonest = Math.min(
      ...rests.filter((rest) => rest?.reason !== 'refused').map((rest) => rest?.until ?? now),
    );
    const retryAfterMs = Math.max(0, soonest - now);
    return new ProviderFailure('status', this.provider, { status: 429, retryAfterMs, isResting: true });
  }

  close(): void {
    for (const { credentials } of this.#keys) credentials.close?.();
  }

  get #group(): string {
    return cacheKey('keys', this.provider);
  }

  /** A resting key is not used, so nothing else would notice a new one in its place. */
  #renew(key: PoolKey): void {
    const version = key.version?.();
    if (version === undefined || version === this.#versions.get(key)) return;
    if (this.#versions.has(key)) key.rests = new Cooldowns(this.#now);
    this.#versions.set(key, version);
  }
}

/** The keys of one call, one after the other. */
export class KeyRotation {
  /** The key to use; null where all rest. */
  key: PoolKey | null;
  readonly #pool: KeyPool;
  readonly #call: KeyedCall;
  readonly #order: readonly PoolKey[];
  readonly #tried = new Set<PoolKey>();

  constructor(pool: KeyPool, call: KeyedCall, order: readonly PoolKey[]) {
    this.#pool = pool;
    this.#call = call;
    this.#order = order;
    this.key = this.#next();
  }

  /** The first key of the session, whether it rests or not. */
  get first(): PoolKey | null {
    return this.#order[0] ?? null;
  }

  /** The failure of a call for which all keys rest. */
  get exhausted(): ProviderFailure {
    return this.#pool.exhausted(this.#call);
  }

  /** Sends a call with one key after the other until one is accepted, or the failure says nothing of keys. */
  async sent<Response>(send: (key: PoolKey | null) => Promise<Response>): Promise<Response> {
    for (;;) {
      const { key } = this;
      if (key === null) throw this.exhausted;
      try {
        const response = await send(key);
        this.#pool.accepted(key, this.#call, key === this.#order[0]);
        return response;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const isReplaced = !this.#tried.has(key) && this.#pool.refused(key, this.#call, error);
        this.#tried.add(key);
        // Answered parts of the call are paid for, as its failure says.
        if (error.details.usage !== undefined) throw error;
        if (!isReplaced) this.key = this.#next();
      }
    }
  }

  #next(): PoolKey | null {
    return (
      this.#order.find((key) => !this.#tried.has(key) && key.rests.cooldownOf(this.#call) === null) ?? null
    );
  }
}

function isRefusal(error: unknown): error is ProviderFailure {
  if (!(error instanceof ProviderFailure)) return false;
  return error.kind === 'credentials' || (error.kind === 'status' && refusals.has(error.details.status ?? 0));
}
