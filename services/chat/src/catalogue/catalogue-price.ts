import { z } from 'zod';
import {
  completeRates,
  parseRate,
  priceList,
  ratesPerPico,
  type CacheFactors,
  type PriceList,
  type RegionFactors,
  type StatedRates,
  type ToolPrices,
} from './price.ts';
import { billedTools, type TokenClass } from '@gatehouse/dialects/usage/usage';

/** The price of a model in the operator's catalogue. */

const decimal = z
  .union([z.string().max(32), z.number()])
  .transform(String)
  // Six decimals keep the price of one token a whole number of pico-USD.
  .refine(
    (text) => /^\d{1,9}(\.\d{1,6})?$/.test(text),
    'must be a decimal amount of USD with at most 6 decimals',
  );

/** The field of each class of tokens, in USD per million tokens. */
export const fieldOf = {
  input: 'input_per_mtok',
  cachedInput: 'cached_input_per_mtok',
  cacheWrite: 'cache_write_per_mtok',
  cacheWrite1h: 'cache_write_1h_per_mtok',
  inputAudio: 'input_audio_per_mtok',
  cachedInputAudio: 'cached_input_audio_per_mtok',
  inputImage: 'input_image_per_mtok',
  cachedInputImage: 'cached_input_image_per_mtok',
  inputVideo: 'input_video_per_mtok',
  cachedInputVideo: 'cached_input_video_per_mtok',
  output: 'output_per_mtok',
  reasoning: 'reasoning_per_mtok',
  outputAudio: 'output_audio_per_mtok',
  outputImage: 'output_image_per_mtok',
  outputVideo: 'output_video_per_mtok',
} as const satisfies Record<TokenClass, string>;
type Field = (typeof fieldOf)[TokenClass];

const optionalFields = Object.fromEntries(Object.values(fieldOf).map((field) => [field, decimal.optional()]));
const amounts = {
  ...(optionalFields as Record<Field, z.ZodOptional<typeof decimal>>),
  input_per_mtok: decimal,
  output_per_mtok: decimal,
  per_call_usd: decimal.optional(),
};
type Amounts = z.output<z.ZodObject<typeof amounts>>;

const steps = z
  .array(z.strictObject({ input_tokens: z.int().min(1).max(1e9), ...amounts }))
  .max(8)
  .refine(
    (entries) => new Set(entries.map((entry) => entry.input_tokens)).size === entries.length,
    'must not have two prices above the same input_tokens',
  );

const tierPrice = z.strictObject({
  ...amounts,
  /** Prices of the whole call where its input is larger. */
  above: steps.optional(),
});

/** Names by which providers report service in the ordinary tier. */
const standardTiers: ReadonlySet<string> = new Set([
  'auto',
  'default',
  'on_demand',
  'standard',
  'standard_only',
]);

/** One name for each tier, null for the standard one. */
export function tierOf(name: string | null): string | null {
  if (name === null || standardTiers.has(name)) return null;
  // OpenAI takes both in requests and answers with the latter.
  return name === 'fast' ? 'priority' : name;
}

const tierName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, 'must be lower-case letters, digits, _ and -')
  .refine(
    (name) => tierOf(name) === name,
    'must be a tier that providers report apart from the standard one',
  );

export const modelPrice = tierPrice.extend({
  /** USD for each call of a tool of the provider, in every tier. */
  per_tool_call: z.partialRecord(z.enum(billedTools), decimal).optional(),
  /** By the value of `service_tier` in the provider's answer. */
  service_tiers: z
    .record(tierName, tierPrice)
    .refine((tiers) => Object.keys(tiers).length <= 8, 'must have at most 8 service tiers')
    .optional(),
  /** Factors of the prices of tokens, by the region in the provider's answer. */
  regions: z
    .record(z.string().min(1).max(64), decimal)
    .refine((regions) => Object.keys(regions).length <= 8, 'must have at most 8 regions')
    .optional(),
});

/**
 * Anthropic's price of calls in the United States, for models that report a region
 * (https://platform.claude.com/docs/en/about-claude/pricing#data-residency-pricing, read 2026-11-29).
 */
const usualRegions: RegionFactors = { us: parseRate('1.1') };

/** The factors of regions: those of the catalogue, and the usual ones. */
export function regionFactors({ regions = {} }: Pick<z.output<typeof modelPrice>, 'regions'>): RegionFactors {
  const stated = Object.entries(regions).map(([name, factor]) => [name, parseRate(factor)] as const);
  return { ...usualRegions, ...Object.fromEntries(stated) };
}

/** The prices of tools by the call. */
export function toolPrices({ per_tool_call: prices = {} }: z.output<typeof modelPrice>): ToolPrices {
  const entries = Object.entries(prices).map(([tool, usd]) => [
    tool,
    (parseRate(usd) * 1_000_000n) / ratesPerPico,
  ]);
  return Object.fromEntries(entries) as ToolPrices;
}

/** Prices in a list of the catalogue for a call of so many input tokens. */
export function statedAt(price: z.output<typeof tierPrice>, inputTokens: number): StatedRates {
  const reached = (price.above ?? []).filter((step) => inputTokens > step.input_tokens);
  return statedRates(reached.sort((a, b) => a.input_tokens - b.input_tokens).at(-1) ?? price);
}

/** Input sizes past which a price of the list changes. */
export function startsOf(price: z.output<typeof tierPrice>): number[] {
  return (price.above ?? []).map((step) => step.input_tokens);
}

/** The list of one service tier, which inherits nothing from the standard one. */
export function tierList(price: z.output<typeof tierPrice>, caches: CacheFactors): PriceList {
  return priceList(startsOf(price), (inputTokens) => completeRates(statedAt(price, inputTokens), caches));
}

function statedRates(price: Amounts): StatedRates {
  const stated: StatedRates = {};
  for (const [name, field] of Object.entries(fieldOf) as [TokenClass, Field][]) {
    const amount = price[field];
    if (amount !== undefined) stated[name] = parseRate(amount);
  }
  // In USD for each call.
  if (price.per_call_usd !== undefined) stated.call = parseRate(price.per_call_usd) * 1_000_000n;
  return stated;
}
