import type { calcPrice, ModelPrice } from '@pydantic/genai-prices';
import { parseRate, type Rates } from './price.ts';

/** Prices of one model, which may depend on how much a call reads. */
export interface PriceList {
  ratesFor(inputTokens: number): Rates;
}

/** Public price lists of providers. */
export interface KnownPrices {
  /** The list valid at a time; null for a provider or a model that is not known. */
  find(baseUrl: string, upstreamModel: string, at: Date): PriceList | null;
}

/** Loads the data bundled with `@pydantic/genai-prices`, 20 MB in memory. */
export async function loadKnownPrices(): Promise<KnownPrices> {
  const { calcPrice: calculate } = await import('@pydantic/genai-prices');
  return { find: (baseUrl, model, at) => findPrices(calculate, { baseUrl, model, at }) };
}

/** Providers are told by their address alone: a private server may serve models of any name at a cost of its own. */
function findPrices(
  calculate: typeof calcPrice,
  { baseUrl, model, at }: { baseUrl: string; model: string; at: Date },
): PriceList | null {
  const found = calculate({}, model, { providerApiUrl: baseUrl, timestamp: at })?.model_price;
  if (found?.['input_mtok'] === undefined) return null;
  return { ratesFor: (inputTokens) => toRates(found, inputTokens) };
}

/** Keys end in the unit: `mtok` is USD per million tokens, `kcount` USD per thousand calls. */
function toRates(price: ModelPrice, inputTokens: number): Rates {
  const rate = (key: string): bigint | undefined => rateAt(price[key], inputTokens);
  const input = rate('input_mtok') ?? 0n;
  const output = rate('output_mtok');
  return {
    input,
    cachedInput: rate('cache_read_mtok') ?? input,
    cacheWrite: rate('cache_write_mtok') ?? input,
    output,
    reasoning: rate('output_reasoning_mtok') ?? output,
    call: (rate('requests_kcount') ?? 0n) * 1_000n,
  };
}

/** A tier's price is that of the whole call once its input is past the tier's start. */
function rateAt(price: ModelPrice[string], inputTokens: number): bigint | undefined {
  if (price === undefined) return undefined;
  if (typeof price === 'number') return parseRate(String(price));
  const tiers = price.tiers.filter(({ start }) => inputTokens > start);
  const tier = tiers.reduce((last, next) => (next.start >= last.start ? next : last), {
    start: -1,
    price: price.base,
  });
  return parseRate(String(tier.price));
}
