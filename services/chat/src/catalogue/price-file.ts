import { isDeepStrictEqual } from 'node:util';
import { boundedText } from './bounded-text.ts';
import { CatalogueError, type Catalogue, type PriceSetting } from './catalogue.ts';
import { pricesInThread } from './in-thread.ts';
import { OperatorPrices } from './operator-prices.ts';
import { isSigned } from './price-signature.ts';
import type { Pricing } from './pricing.ts';

export const maxPriceBytes = 8 * 1024 * 1024;
const maxSignatureBytes = 1_024;

/** The file of prices that the catalogue names. */
export class PriceFile {
  /** The text that was prepared last; null if there is none. */
  used: string | null = null;
  readonly #catalogue: Pick<Catalogue, 'prices'>;
  readonly #pricing: Pick<Pricing, 'chargeBy'>;

  constructor(catalogue: Pick<Catalogue, 'prices'>, pricing: Pick<Pricing, 'chargeBy'>) {
    this.#catalogue = catalogue;
    this.#pricing = pricing;
  }

  /** The signature and the text behind it; null if the catalogue names no file. Throws a `CatalogueError`. */
  async text(): Promise<string | null> {
    const { prices } = this.#catalogue;
    return prices === null ? null : signedText(prices);
  }

  /** Charges by a text from now on, unless the catalogue has another file meanwhile. Throws as `text` does. */
  async use(text: string, signal: AbortSignal): Promise<void> {
    const { prices: setting } = this.#catalogue;
    if (setting === null) return;
    const prices = await pricesIn(setting, text, signal);
    if (isDeepStrictEqual(setting, this.#catalogue.prices)) this.#pricing.chargeBy(prices);
  }

  /** Reads the file of another catalogue. Returns what charges by it. Throws as `text` does. */
  async prepared({ prices: setting }: Pick<Catalogue, 'prices'>, signal: AbortSignal): Promise<() => void> {
    const text = setting === null ? null : await signedText(setting);
    const prices = setting === null || text === null ? null : await pricesIn(setting, text, signal);
    return () => {
      this.used = text;
      this.#pricing.chargeBy(prices);
    };
  }
}

async function signedText({ file, public_key: key }: PriceSetting): Promise<string> {
  const text = await boundedText(file, maxPriceBytes);
  const signature = key === undefined ? '' : await boundedText(`${file}.sig`, maxSignatureBytes);
  return `${signature.replaceAll(/\s/g, '')}\n${text}`;
}

async function pricesIn(
  { file, public_key: key }: PriceSetting,
  signed: string,
  signal: AbortSignal,
): Promise<OperatorPrices> {
  const end = signed.indexOf('\n');
  const text = signed.slice(end + 1);
  if (key !== undefined && !isSigned(Buffer.from(text), signed.slice(0, end), key))
    throw new CatalogueError([`${file}.sig is no signature of ${file} by the public_key`]);
  return new OperatorPrices(await pricesInThread({ file, text }, signal));
}
