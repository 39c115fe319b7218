import { cacheKey } from '@gatehouse/kit/cache-key';
import { z } from 'zod';
import { modelPrice } from './catalogue-price.ts';
import { CatalogueError } from './catalogue.ts';
import { maxNameLength } from './model-names.ts';
import { name } from './provider-schema.ts';

export type StatedPrice = z.output<typeof modelPrice>;

/** As many as 20,000 prices have. The event loop waits while they are read. */
export const maxPriceBytes = 2 * 1024 * 1024;

const priceDocument = z.strictObject({
  /** Named by the events of runs that it charges. */
  version: z
    .string()
    .regex(/^[\x21-\x7e]{1,64}$/, 'must be 1 to 64 printable ASCII characters without spaces'),
  prices: z.record(name, z.record(z.string().min(1).max(maxNameLength), modelPrice)),
});

/** A price of the operator's list. */
export interface ListedPrice {
  provider: string;
  /** The provider's name of it. */
  model: string;
  price: StatedPrice;
}

/** A list as it is written, its prices in the order of the file. */
export interface PriceDocument {
  version: string;
  prices: readonly ListedPrice[];
}

/** The operator's list of prices, over the public ones: by provider, and by the provider's name of the model. */
export class OperatorPrices {
  readonly version: string;
  /** In the order of the file. */
  readonly entries: readonly ListedPrice[];
  readonly #prices: ReadonlyMap<string, StatedPrice>;

  constructor({ version, prices }: PriceDocument) {
    this.version = version;
    this.entries = prices;
    this.#prices = new Map(prices.map(({ provider, model, price }) => [cacheKey(provider, model), price]));
  }

  find(provider: string, upstreamModel: string): StatedPrice | undefined {
    return this.#prices.get(cacheKey(provider, upstreamModel));
  }
}

/** Reads the JSON of a list. Throws one error that names the file and every problem. */
export function pricesIn({ file, text }: { file: string; text: string }): PriceDocument {
  const parsed = priceDocument.safeParse(parsedJson(file, text));
  if (parsed.success) {
    const { version, prices } = parsed.data;
    return { version, prices: Object.entries(prices).flatMap(pricesOf) };
  }
  throw new CatalogueError(
    parsed.error.issues.map((issue) => `${file}: ${issue.path.join('.')}: ${issue.message}`),
  );
}

function pricesOf([provider, models]: [string, Record<string, StatedPrice>]): ListedPrice[] {
  return Object.entries(models).map(([model, price]) => ({ provider, model, price }));
}

function parsedJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CatalogueError([`${file} is not valid JSON`]);
  }
}
