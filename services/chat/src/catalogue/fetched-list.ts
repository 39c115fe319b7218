import { jittered } from '@gatehouse/kit/background-loop';
import { monotonicMs } from '@gatehouse/kit/clock';
import { EgressError } from '@gatehouse/egress/errors';
import type { Egress } from '@gatehouse/egress/egress';
import { CatalogueError, type PriceSetting } from './catalogue.ts';
import { maxPriceBytes } from './operator-prices.ts';

const timeoutMs = 30_000;
/** Object stores and release pages redirect. */
const maxRedirects = 3;
/** After a failure, unless the list is fetched more often anyway. */
const retryMs = 60_000;
const unchanged = 304;

/** A list of prices behind a URL. */
export type UrlSetting = PriceSetting & { url: string };

export interface FetchedListOptions {
  setting: UrlSetting;
  egress: Pick<Egress, 'request'>;
  /** The last good list behind each URL, for all replicas; null where none was ever good. */
  store: { keep(url: string, list: string): Promise<void>; find(url: string): Promise<string | null> };
  /** Called once for each failure that differs from the one before. */
  onFailure: (error: Error) => void;
  /** The clock in milliseconds; by default the monotonic one. */
  now?: () => number;
}

/**
 * The list of prices behind a URL. It is fetched beside the readings of it. While it can't be fetched or used, replicas use
 * the list that one of them used last, so that all charge by the same, and it is fetched again soon.
 */
export class FetchedList {
  readonly setting: UrlSetting;
  readonly #options: FetchedListOptions;
  readonly #now: () => number;
  readonly #stopping = new AbortController();
  /** The last list that was fetched, and its tag. */
  #fetched: { text: string; etag: string | undefined } | null = null;
  #newest = '';
  /** Texts that can't be used, which are read once: the one at the URL, and the one that is kept. */
  #unusable: readonly string[] = [];
  #dueAt = Infinity;
  #failure: string | null = null;

  constructor(options: FetchedListOptions) {
    this.setting = options.setting;
    this.#options = options;
    this.#now = options.now ?? monotonicMs;
  }

  /** The newest list; fetches the next one beside if it is due. */
  text(): string {
    if (this.#now() >= this.#dueAt) {
      this.#dueAt = Infinity;
      void this.#renew();
    }
    return this.#newest;
  }

  /** The list, before any was used. Throws a `CatalogueError`. */
  async first(signal: AbortSignal): Promise<string> {
    this.#newest = await this.#fetch(signal);
    return this.#newest;
  }

  /** The list that a replica used last; null without one. */
  async stored(): Promise<string | null> {
    const { store, setting } = this.#options;
    const text = await store.find(setting.url);
    if (text !== null) this.#newest = text;
    return text;
  }

  /** A text is in use from now on. A newer one may have come while it was read. */
  async used(text: string): Promise<void> {
    const { store, setting } = this.#options;
    this.#dueAt = Math.min(this.#dueAt, this.#now() + jittered(setting.every));
    await store.keep(setting.url, text);
  }

  /** A text can't be used. */
  async unusable(text: string): Promise<void> {
    this.#unusable = [...this.#unusable.slice(-1), text];
    await this.#fallBack();
  }

  /** The list can't be had. A text that could not be used counts as another one if it comes back. */
  failed(error: Error): void {
    this.#unusable = [];
    this.#retry();
    if (this.#stopping.signal.aborted || error.message === this.#failure) return;
    this.#failure = error.message;
    this.#options.onFailure(error);
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #renew(): Promise<void> {
    try {
      const text = await this.#fetch(this.#stopping.signal);
      this.#failure = null;
      if (this.#unusable.includes(text)) {
        await this.#fallBack();
        return;
      }
      this.#unusable = [];
      this.#newest = text;
      this.#dueAt = this.#now() + jittered(this.setting.every);
    } catch (error) {
      await this.#fallBack();
      this.failed(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** To the list that a replica used last, until another one is at the URL. */
  async #fallBack(): Promise<void> {
    await this.stored().catch(() => null);
    this.#retry();
  }

  #retry(): void {
    this.#dueAt = this.#now() + jittered(Math.min(this.setting.every, retryMs));
  }

  async #fetch(signal: AbortSignal): Promise<string> {
    const known = this.#fetched;
    const response = await this.#get(
      known?.etag === undefined ? {} : { 'if-none-match': known.etag },
      signal,
    );
    if (response.status !== unchanged) {
      this.#fetched = { text: response.body.toString('utf8'), etag: response.headers['etag'] };
      return this.#fetched.text;
    }
    if (known === null) throw this.#problem('it has status 304');
    return known.text;
  }

  async #get(headers: Record<string, string>, signal: AbortSignal): ReturnType<Egress['request']> {
    const { egress, setting } = this.#options;
    try {
      const response = await egress.request({
        ...{ tenantId: null, method: 'GET', url: new URL(setting.url), timeoutMs, maxRedirects },
        ...{ maxBytes: maxPriceBytes, headers, signal },
      });
      if (response.status === 200 || response.status === unchanged) return response;
      throw this.#problem(`it has status ${response.status}`);
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      throw this.#problem(error.message);
    }
  }

  #problem(why: string): CatalogueError {
    return new CatalogueError([`${shownUrl(this.setting.url)} can't be fetched: ${why}`]);
  }
}

/** Without the query, which may have a secret. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
