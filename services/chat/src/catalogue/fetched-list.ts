import { BackgroundLoop, jittered } from '@gatehouse/kit/background-loop';
import { EgressError } from '@gatehouse/egress/errors';
import type { Egress } from '@gatehouse/egress/egress';
import type { PriceSetting } from './catalogue-document.ts';
import { CatalogueError } from './catalogue.ts';
import { OperatorPrices } from './operator-prices.ts';
import { catalogueBytes, refetchMs } from '../bounds.ts';

export interface FetchedListOptions {
  setting: PriceSetting & { url: string };
  egress: Pick<Egress, 'request'>;
  /** The last good list behind each URL, for all replicas; null before the first good one. */
  store: { keep(url: string, list: string): Promise<void>; find(url: string): Promise<string | null> };
  /** Called with the list to use from now on. */
  use: (prices: OperatorPrices) => void;
  /** Called for each failure unless it repeats the one before. */
  onFailure: (error: Error) => void;
  /** The last good list could not be stored for other replicas. */
  onUnkept: (error: unknown) => void;
}

/**
 * List of prices behind a URL. While it can't be fetched or used, replicas use the list used last by one of them, so
 * all charge by the same, and fetch it again soon.
 */
export class FetchedList {
  readonly #options: FetchedListOptions;
  readonly #loop = new BackgroundLoop(() => this.#round());
  /** The last fetched list, and its tag. */
  #fetched: { text: string; etag: string | undefined } | null = null;
  /** The text of the list in use. */
  #used: string | null = null;
  /** The failure of the last fetch. */
  #failure: string | null = null;

  constructor(options: FetchedListOptions) {
    this.#options = options;
  }

  /** The list to begin with; null for the one in use. Throws a `CatalogueError` if neither URL nor store have one. */
  async first(signal: AbortSignal): Promise<OperatorPrices | null> {
    try {
      return await this.#newest(signal);
    } catch (error) {
      const prices = await this.#stored();
      if (prices === null) throw error;
      this.#report(error);
      return prices;
    }
  }

  /** Fetches the list again from now on. */
  start(): void {
    this.#loop.start(this.#pauseMs);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #round(): Promise<number> {
    const { signal } = this.#loop;
    const prices = await this.#newest(signal).then(
      (newest) => {
        this.#failure = null;
        return newest;
      },
      (error: unknown) => {
        this.#report(error);
        return this.#stored().catch(() => null);
      },
    );
    if (prices !== null && !signal.aborted) this.#options.use(prices);
    return this.#pauseMs;
  }

  get #pauseMs(): number {
    const { every } = this.#options.setting;
    return jittered(this.#failure === null ? every : Math.min(every, refetchMs));
  }

  /** The list at the URL, which is stored for other replicas; null if it is in use. */
  async #newest(signal: AbortSignal): Promise<OperatorPrices | null> {
    const { setting, store, onUnkept } = this.#options;
    const text = await this.#fetch(signal);
    const prices = this.#read(text);
    if (prices !== null) await store.keep(setting.url, text).catch(onUnkept);
    return prices;
  }

  /** The list used last by a replica; null without one, and if it is in use. */
  async #stored(): Promise<OperatorPrices | null> {
    const { setting, store } = this.#options;
    const text = await store.find(setting.url);
    return text === null ? null : this.#read(text);
  }

  #read(text: string): OperatorPrices | null {
    if (text === this.#used) return null;
    const prices = OperatorPrices.parse({ file: shownUrl(this.#options.setting.url), text });
    this.#used = text;
    return prices;
  }

  #report(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    if (this.#loop.signal.aborted || error.message === this.#failure) return;
    this.#failure = error.message;
    this.#options.onFailure(error);
  }

  async #fetch(signal: AbortSignal): Promise<string> {
    const { egress, setting } = this.#options;
    const etag = this.#fetched?.etag;
    const response = await egress
      .request({
        // Object stores and release pages redirect.
        ...{
          tenantId: null,
          method: 'GET',
          url: new URL(setting.url),
          timeoutMs: 30_000,
          maxRedirects: 3,
          signal,
        },
        ...{ maxBytes: catalogueBytes, headers: etag === undefined ? {} : { 'if-none-match': etag } },
      })
      .catch((error: unknown) => {
        throw error instanceof EgressError ? this.#problem(error.message) : error;
      });
    const { status, headers, body } = response;
    if (status === 200) this.#fetched = { text: body.toString('utf8'), etag: headers['etag'] };
    if (this.#fetched === null || (status !== 200 && status !== 304))
      throw this.#problem(`it has status ${status}`);
    return this.#fetched.text;
  }

  #problem(why: string): CatalogueError {
    return new CatalogueError([`${shownUrl(this.#options.setting.url)} can't be fetched: ${why}`]);
  }
}

/** Without the query, which may have a secret. */
function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
