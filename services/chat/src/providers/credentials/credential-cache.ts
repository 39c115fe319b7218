import { isDeepStrictEqual } from 'node:util';
import { minuteMs } from '@gatehouse/kit/bounds';
import { monotonicMs } from '@gatehouse/kit/clock';
import { CredentialsError, type Credentials } from '../credentials.ts';
import { wrongKey } from '../key-status.ts';
import { connectMs } from '../../bounds.ts';

/** An expiring credential, as returned by an issuer. */
export interface IssuedCredential<Value> {
  value: Value;
  /** From the time of the request; `Infinity` for a credential without an end. */
  lifetimeMs: number;
}

/** Requests a credential from its issuer. Throws `CredentialsError`, with no secrets in its message. */
export type FetchCredential<Value> = (signal: AbortSignal) => Promise<IssuedCredential<Value>>;

const firstPauseMs = 1_000;
const maxPauseMs = 30_000;

/**
 * A credential renewed by the calls using it: five minutes before its end, or a third of its life before. One renewal
 * runs at a time. The credential before is used until its end, also after a refusal: a request of one tenant may cause
 * a refusal, and no other call waits for it. Failed renewals pause for a second, doubling up to half a minute.
 */
export class CredentialCache<Value> {
  readonly #fetchCredential: FetchCredential<Value>;
  readonly #onFailure: (error: Error) => void;
  readonly #closed = new AbortController();
  /** `since`: the time from which it has this value. */
  #current: { value: Value; since: number; renewAt: number; endsAt: number } | null = null;
  #renewedForRefusalAt = -Infinity;
  #renewal: Promise<Value> | null = null;
  #failure: Error | null = null;
  #pauseMs = firstPauseMs;
  #pausedUntil = -Infinity;

  /** `onFailure`: gets each failure of a renewal, for the log. */
  constructor(fetchCredential: FetchCredential<Value>, onFailure: (error: Error) => void) {
    this.#fetchCredential = fetchCredential;
    this.#onFailure = onFailure;
  }

  /** The credential; a promise where it must be fetched first. */
  get(): Value | Promise<Value> {
    const now = monotonicMs();
    const current = this.#current;
    if (current === null || now >= current.endsAt) return this.#renewUnlessPaused();
    // Nothing waits for it, and its failure is kept.
    if (now >= current.renewAt && now >= this.#pausedUntil) this.#renew().catch(() => undefined);
    return current.value;
  }

  /**
   * A provider refused a call sent at a time of `monotonicMs`. Resolves to whether another credential is in place, once
   * a renewal for this one call has ended, in 10 s at most.
   */
  async refused(sentAt: number): Promise<boolean> {
    if (!this.#isReplacedSince(sentAt)) await this.#renewForRefusal();
    return this.#isReplacedSince(sentAt);
  }

  close(): void {
    this.#closed.abort(new CredentialsError('the process stops'));
  }

  #isReplacedSince(time: number): boolean {
    return this.#current !== null && this.#current.since > time;
  }

  async #renewForRefusal(): Promise<void> {
    const pausedUntil = Math.max(this.#pausedUntil, this.#renewedForRefusalAt + minuteMs);
    if (this.#renewal === null && monotonicMs() < pausedUntil) return;
    try {
      await this.#renew();
      this.#renewedForRefusalAt = monotonicMs();
    } catch {
      // The failure is kept.
    }
  }

  async #renewUnlessPaused(): Promise<Value> {
    if (this.#renewal === null && this.#failure !== null && monotonicMs() < this.#pausedUntil)
      throw this.#failure;
    return this.#renew();
  }

  #renew(): Promise<Value> {
    this.#renewal ??= this.#fetchAndStore().finally(() => {
      this.#renewal = null;
    });
    return this.#renewal;
  }

  async #fetchAndStore(): Promise<Value> {
    const began = monotonicMs();
    try {
      const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(connectMs)]);
      const { value, lifetimeMs } = await this.#fetchCredential(signal);
      const endsAt = began + lifetimeMs;
      const last = this.#current;
      const since = last !== null && isDeepStrictEqual(last.value, value) ? last.since : monotonicMs();
      this.#current = { value, since, endsAt, renewAt: endsAt - Math.min(5 * minuteMs, lifetimeMs / 3) };
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

/**
 * Credentials from a cache. `refusal`: a provider's status for a refused credential, beside the status of a wrong key.
 */
export function cachedCredentials<Value>(
  cache: CredentialCache<Value>,
  refusal: number,
  headersFor: Credentials['headersFor'],
): Credentials {
  return {
    headersFor,
    refused: async (status, sentAt) =>
      (status === wrongKey || status === refusal) && (await cache.refused(sentAt)),
    close: () => {
      cache.close();
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
