import type { Catalogue } from './catalogue.ts';
import { boundedText } from './catalogue-file.ts';
import { FetchedList, type FetchedListOptions } from './fetched-list.ts';
import { OperatorPrices } from './operator-prices.ts';
import type { Pricing } from './pricing.ts';

export interface OperatorListOptions extends Omit<FetchedListOptions, 'setting' | 'use'> {
  pricing: Pick<Pricing, 'chargeBy'>;
  /** An updated list from the URL is in use. */
  onUpdated: () => void;
}

/** Operator's list of prices: a file named in the catalogue, or behind a URL. */
export class OperatorList {
  /** The text of the file prepared last; null without one. */
  used: string | null = null;
  readonly #options: OperatorListOptions;
  #file: string | undefined;
  #fetched: FetchedList | null = null;

  constructor(options: OperatorListOptions) {
    this.#options = options;
  }

  /** The text of the file; null if the catalogue names no file. Throws a `CatalogueError`. */
  async text(): Promise<string | null> {
    return this.#file === undefined ? null : boundedText(this.#file);
  }

  /** Charges by a text of the file from now on. Throws as `text` does. */
  use(text: string): void {
    this.#options.pricing.chargeBy(OperatorPrices.parse({ file: this.#file ?? '', text }));
  }

  /** Reads the list of another catalogue. Returns a function to charge by it. Throws as `text` does. */
  async prepared({ prices: setting }: Pick<Catalogue, 'prices'>, signal: AbortSignal): Promise<() => void> {
    const { pricing, onUpdated } = this.#options;
    const { file, url } = setting ?? {};
    const use = (prices: OperatorPrices): void => {
      pricing.chargeBy(prices);
      onUpdated();
    };
    const fetched =
      setting === null || url === undefined
        ? null
        : new FetchedList({ ...this.#options, setting: { ...setting, url }, use });
    const text = file === undefined ? null : await boundedText(file);
    const prices =
      text === null ? await fetched?.first(signal) : OperatorPrices.parse({ file: file ?? '', text });
    return () => {
      void this.#fetched?.stop();
      this.#fetched = fetched;
      this.#file = file;
      this.used = text;
      pricing.chargeBy(prices ?? null);
      fetched?.start();
    };
  }

  async stop(): Promise<void> {
    await this.#fetched?.stop();
  }
}
