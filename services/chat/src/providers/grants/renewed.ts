import { monotonicMs } from '@gatehouse/kit/clock';
import { CredentialsError, type Credentials } from '../credentials.ts';
import { wrongKey } from '../key-status.ts';

/** Something that expires, as an issuer grants it. */
export interface Grant<Value> {
  value: Value;
  /** From when it was asked for; `Infinity` for one that does not expire. */
  lifetimeMs: number;
}

/** Asks an issuer for a grant. Throws `CredentialsError`, whose message has no secrets. */
export type Ask<Value> = (signal: AbortSignal) => Promise<Grant<Value>>;

const askMs = 10_000;
/** A grant is renewed this long before its end, or a third of its life before if that is less. */
const aheadMs = 5 * 60_000;
/** Refusals of one grant, by many calls at once, renew it once. */
const refusedMs = 10_000;
const firstPauseMs = 1_000;
const maxPauseMs = 30_000;

/**
 * A grant that is renewed ahead of its end, by the calls that use it. One renewal runs at a time, and the grant before is
 * used until its end. Failed renewals pause for a second, doubling up to half a minute.
 */
export class Renewed<Value> {
  readonly #ask: Ask<Value>;
  readonly #onFailure: (error: Error) => void;
  readonly #closed = new AbortController();
  #current: { value: Value; renewAt: number; endsAt: number } | null = null;
  #isRefused = false;
  #refusedAt = -Infinity;
  #renewal: Promise<Value> | null = null;
  #failure: Error | null = null;
  #pauseMs = firstPauseMs;
  #pausedUntil = -Infinity;

  /** `onFailure`: gets each failure of a renewal, for the log. */
  constructor(ask: Ask<Value>, onFailure: (error: Error) => void) {
    this.#ask = ask;
    this.#onFailure = onFailure;
  }

  /** The grant; a promise where one must be had first. */
  get(): Value | Promise<Value> {
    const now = monotonicMs();
    const current = this.#current;
    const good = current !== null && now < current.endsAt ? current : null;
    if (good === null || this.#isRefused) return this.#wanted(good?.value);
    // Nothing waits for it, and its failure is kept.
    if (now >= good.renewAt && now >= this.#pausedUntil) this.#renew().catch(() => undefined);
    return good.value;
  }

  /** A provider refused the grant: the next call waits for another one. */
  refused(): void {
    const now = monotonicMs();
    if (now < this.#refusedAt + refusedMs) return;
    this.#refusedAt = now;
    this.#isRefused = true;
  }

  close(): void {
    this.#closed.abort(new CredentialsError('the process stops'));
  }

  /** `last`: a grant that may still be good if there is no other. */
  async #wanted(last: Value | undefined): Promise<Value> {
    try {
      if (this.#renewal === null && this.#failure !== null && monotonicMs() < this.#pausedUntil)
        throw this.#failure;
      return await this.#renew();
    } catch (error) {
      if (last !== undefined) return last;
      throw error;
    }
  }

  #renew(): Promise<Value> {
    this.#renewal ??= this.#granted().finally(() => {
      this.#renewal = null;
    });
    return this.#renewal;
  }

  async #granted(): Promise<Value> {
    const began = monotonicMs();
    try {
      const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(askMs)]);
      const { value, lifetimeMs } = await this.#ask(signal);
      const endsAt = began + lifetimeMs;
      this.#current = { value, endsAt, renewAt: endsAt - Math.min(aheadMs, lifetimeMs / 3) };
      this.#isRefused = false;
      this.#failure = null;
      this.#pauseMs = firstPauseMs;
      return value;
    } catch (error) {
      const failure = error instanceof CredentialsError ? error : new CredentialsError(nameOf(error));
      this.#failure = failure;
      this.#pausedUntil = monotonicMs() + this.#pauseMs;
      this.#pauseMs = Math.min(maxPauseMs, 2 * this.#pauseMs);
      if (!this.#closed.signal.aborted) this.#onFailure(failure);
      throw failure;
    }
  }
}

/** Credentials by a grant. `refusal`: a status by which a provider refuses it, beside that of a wrong key. */
export function grantedCredentials<Value>(
  grant: Renewed<Value>,
  refusal: number,
  headersFor: Credentials['headersFor'],
): Credentials {
  return {
    headersFor,
    refused: (status) => {
      if (status !== wrongKey && status !== refusal) return false;
      grant.refused();
      return true;
    },
    close: () => {
      grant.close();
    },
  };
}

/** Messages of libraries may have requests in them. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the issuer could not be asked';
  const { code, status } = error as { code?: unknown; status?: unknown };
  const known = [error.name, code, status].filter(
    (part) => typeof part === 'number' || (typeof part === 'string' && /^[\w.-]{1,60}$/.test(part)),
  );
  return `the issuer could not be asked: ${known.join(' ')}`;
}
