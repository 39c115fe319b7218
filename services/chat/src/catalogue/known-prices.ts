import { readFileSync } from 'node:fs';
import type { calcPrice, ModelPrice } from '@pydantic/genai-prices';
import { parseRate, type StatedRates, type CacheFactors } from './price.ts';
import type { TokenClass } from '@gatehouse/dialects/usage/usage';

/** The prices of one model in a public list. It has no prices of service tiers: all are those of the standard one. */
export interface KnownList {
  /** Input sizes past which a price changes. */
  starts: readonly number[];
  statedAt(inputTokens: number): StatedRates;
  /** The provider's rule for caches of this model, in every service tier. */
  caches: CacheFactors;
}

const { dependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  dependencies: Record<string, string>;
};

/** The version of the public price lists, which come with the release. */
export const knownVersion = `genai-prices@${dependencies['@pydantic/genai-prices'] ?? ''}`;

/** Public price lists of providers. */
export interface KnownPrices {
  /** The list valid at a time; null for an unknown provider or model. */
  find(baseUrl: string, upstreamModel: string, at: Date): KnownList | null;
}

/** Loads the data bundled with `@pydantic/genai-prices`, 20 MB in memory. */
export async function loadKnownPrices(): Promise<KnownPrices> {
  const { calcPrice: calculate } = await import('@pydantic/genai-prices');
  return { find: (baseUrl, model, at) => findPrices(calculate, { baseUrl, model, at }) };
}

/** Names in the data, `units` in prices/new_data/v2; `mtok` is USD per million tokens. */
const keys: readonly (readonly [TokenClass, string])[] = [
  ['input', 'input_mtok'],
  ['cachedInput', 'cache_read_mtok'],
  ['cacheWrite', 'cache_write_5m_mtok'],
  ['cacheWrite1h', 'cache_write_1h_mtok'],
  ['inputAudio', 'input_audio_mtok'],
  ['cachedInputAudio', 'cache_audio_read_mtok'],
  ['inputImage', 'input_image_mtok'],
  ['cachedInputImage', 'cache_image_read_mtok'],
  ['inputVideo', 'input_video_mtok'],
  ['cachedInputVideo', 'cache_video_read_mtok'],
  ['output', 'output_mtok'],
  ['reasoning', 'output_reasoning_mtok'],
  ['outputAudio', 'output_audio_mtok'],
  ['outputImage', 'output_image_mtok'],
  ['outputVideo', 'output_video_mtok'],
];

/** Providers are recognised by their address alone: a private server may serve models of any name at a cost of its own. */
function findPrices(
  calculate: typeof calcPrice,
  { baseUrl, model, at }: { baseUrl: string; model: string; at: Date },
): KnownList | null {
  const result = calculate({}, model, { providerApiUrl: baseUrl, timestamp: at });
  const modelPrice = result?.model_price;
  if (modelPrice?.['input_mtok'] === undefined) return null;
  const tiered = Object.values(modelPrice).filter((price) => typeof price === 'object');
  return {
    starts: tiered.flatMap(({ tiers }) => tiers.map(({ start }) => start)),
    statedAt: (inputTokens) => statedRates(modelPrice, inputTokens),
    // OpenAI, guide "Prompt caching": no additional fee on models before GPT-5.6. The later ones have a price here.
    caches:
      result?.provider.id === 'openai' && modelPrice['cache_write_mtok'] === undefined
        ? { cacheWrite: 1_000n }
        : {},
  };
}

function statedRates(price: ModelPrice, inputTokens: number): StatedRates {
  const stated: StatedRates = {};
  for (const [name, key] of keys) {
    const rate = rateAt(price[key], inputTokens);
    if (rate !== undefined) stated[name] = rate;
  }
  const cacheWrite = stated.cacheWrite ?? rateAt(price['cache_write_mtok'], inputTokens);
  if (cacheWrite !== undefined) stated.cacheWrite = cacheWrite;
  // In USD per thousand calls.
  const calls = rateAt(price['requests_kcount'], inputTokens);
  if (calls !== undefined) stated.call = calls * 1_000n;
  return stated;
}

/** A tier's price holds for the whole call once its input is past the tier's start. */
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
