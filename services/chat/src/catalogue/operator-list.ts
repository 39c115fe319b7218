import { boundedText } from './bounded-text.ts';
import { CatalogueError, type Catalogue, type PriceSetting } from './catalogue.ts';
import { FetchedList, shownUrl, type FetchedListOptions } from './fetched-list.ts';
import { maxPriceBytes, OperatorPrices, pricesIn } from './operator-prices.ts';
import type { Pricing } from './pricing.ts';

export interface OperatorListOptions extends Omit<FetchedListOptions, 'setting'> {
  catalogue: Pick<Catalogue, 'prices'>;
  pricing: Pick<Pricing, 'chargeBy'>;
  /** The last good list could not be kept for other replicas. */
  onUnkept: (error: unknown) => void;
}

/** The operator's list of prices: a file that the catalogue names, or behind a URL. */
export class OperatorList {
  /** The text that was prepared last; null without one. */
  used: string | null = null;
  readonly #options: OperatorListOptions;
  #fetched: FetchedList | null = null;

  constructor(options: OperatorListOptions) {
    this.#options = options;
  }

  /** Null if the catalogue names no list. Throws a `CatalogueError`. */
  async text(): Promise<string | null> {
    const { prices } = this.#options.catalogue;
    if (prices === null) return null;
    return prices.file === undefined ? (this.#fetched?.text() ?? null) : fileText(prices.file);
  }

  /** Charges by a text from now on. Throws as `text` does. */
  async use(text: string): Promise<void> {
    const { catalogue, pricing } = this.#options;
    const setting = catalogue.prices;
    if (setting === null) return;
    try {
      pricing.chargeBy(readPrices(setting, text));
      this.#keep(text);
    } catch (error) {
      // Another reason than the text may pass.
      if (error instanceof CatalogueError) await this.#fetched?.unusable(text);
      throw error;
    }
  }

  /** Reads the list of another catalogue. Returns what charges by it. Throws as `text` does. */
  async prepared({ prices: setting }: Pick<Catalogue, 'prices'>, signal: AbortSignal): Promise<() => void> {
    const { url } = setting ?? {};
    const fetched =
      setting === null || url === undefined
        ? null
        : new FetchedList({ ...this.#options, setting: { ...setting, url } });
    const list = setting === null ? null : await this.#first(setting, fetched, signal);
    return () => {
      this.#fetched?.stop();
      this.#fetched = fetched;
      this.used = list?.text ?? null;
      this.#options.pricing.chargeBy(list?.prices ?? null);
      if (list !== null) this.#keep(list.text);
    };
  }

  stop(): void {
    this.#fetched?.stop();
  }

  async #first(
    setting: PriceSetting,
    fetched: FetchedList | null,
    signal: AbortSignal,
  ): Promise<{ text: string; prices: OperatorPrices }> {
    const read = (text: string) => ({ text, prices: readPrices(setting, text) });
    if (fetched === null) return read(await fileText(setting.file ?? ''));
    let text: string | null = null;
    try {
      text = await fetched.first(signal);
      return read(text);
    } catch (error) {
      const stored = await fetched.stored();
      if (stored === null) throw error;
      const list = read(stored);
      fetched.failed(error as Error);
      if (text !== null) await fetched.unusable(text);
      return list;
    }
  }

  #keep(text: string): void {
    this.#fetched?.used(text).catch(this.#options.onUnkept);
  }
}

function fileText(file: string): Promise<string> {
  return boundedText(file, maxPriceBytes);
}

function readPrices({ file, url }: PriceSetting, text: string): OperatorPrices {
  return new OperatorPrices(pricesIn({ file: file ?? shownUrl(url ?? ''), text }));
}
