import { cacheKey } from '@gatehouse/kit/cache-key';
import { z } from 'zod';
import { modelPrice } from './catalogue-price.ts';
import { CatalogueError } from './catalogue.ts';
import { name } from './provider-schema.ts';
import { maxNameLength } from '../bounds.ts';

export type StatedPrice = z.output<typeof modelPrice>;

const priceDocument = z.strictObject({
  /** Stated in the events of runs charged by the list. */
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

/** The operator's list of prices, over the public ones: by provider, and by the provider's name of the model. */
export class OperatorPrices {
  readonly version: string;
  /** In the order of the file. */
  readonly entries: readonly ListedPrice[];
  readonly #prices: ReadonlyMap<string, StatedPrice>;

  private constructor({ version, prices }: z.output<typeof priceDocument>) {
    this.version = version;
    this.entries = Object.entries(prices).flatMap(pricesOf);
    this.#prices = new Map(
      this.entries.map(({ provider, model, price }) => [cacheKey(provider, model), price]),
    );
  }

  /** Reads the JSON of a list. Throws one error with the file's name and every problem. */
  static parse({ file, text }: { file: string; text: string }): OperatorPrices {
    const { success, data, error } = priceDocument.safeParse(parsedJson(file, text));
    if (success) return new OperatorPrices(data);
    throw new CatalogueError(
      error.issues.map((issue) => `${file}: ${issue.path.join('.')}: ${issue.message}`),
    );
  }

  find(provider: string, upstreamModel: string): StatedPrice | undefined {
    return this.#prices.get(cacheKey(provider, upstreamModel));
  }
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
