import { cappedPico as capped } from '@gatehouse/kit/money';
import { costPartNames } from '@gatehouse/events/run-event';
import type { Operation } from '@gatehouse/dialects/dialect';
import { toTokens } from '@gatehouse/dialects/usage/tokens';
import {
  billedTools,
  inputClasses,
  outputClasses,
  tokenClasses,
  partsOf,
  type BilledTool,
  type TokenClass,
  type ToolCalls,
  type Usage,
} from '@gatehouse/dialects/usage/usage';

/** Money is integer pico-USD (10^-12 USD). */

/** The operator's price, in the catalogue or its list, or the public one. */
export type PriceSource = 'catalogue' | 'genai-prices';

export type CostPart = (typeof costPartNames)[number];
/** The parts of a cost, each in pico-USD; none is negative. */
export type CostParts = Record<CostPart, bigint>;

/** The cost of a provider call; `source` is null where no price is needed: without tokens, or free of charge. */
export interface Cost {
  costPico: bigint;
  source: PriceSource | null;
  /** The version of the price; null with `source`, and for calls recorded by the release before. */
  version: string | null;
  /** Their sum is the cost. Absent without a source, and for calls recorded by the release before. */
  parts?: CostParts;
}

/** The cost of a run. */
export interface RunCost {
  /** The sum for calls with a known price; null when there are only unpriced ones. */
  costPico: bigint | null;
  /** Whether every call with tokens in it has a price. */
  priced: boolean;
  /** The source and version of the last call with a source. */
  source: PriceSource | null;
  version: string | null;
}

/** Prices in 10^-24 USD: per token, which is USD per million tokens with 18 decimals, and per call. */
export type Rates = Record<TokenClass, bigint | undefined> & { call: bigint };

/** Prices stated by a list. */
export type StatedRates = Partial<Rates>;

/** Prices of one model, which may depend on how much a call reads. */
export interface PriceList {
  base: Rates;
  /** Each holds for the whole of a call with more than so many input tokens; in ascending order. */
  above: readonly { inputTokens: number; rates: Rates }[];
}

/** The bounds of a call, or of several together, from which its highest cost follows. */
export interface CostBounds {
  /** Default: `chat`. */
  operation?: Operation | undefined;
  input: number;
  output: number;
  /** The calls of a batch, and the most input of one of them. */
  calls?: { count: number; input: number } | undefined;
  /** Requested classes, each of which must have a price. */
  classes: readonly TokenClass[];
}

/** The prices of tools by the call, in pico-USD. */
export type ToolPrices = Partial<Record<BilledTool, bigint>>;

/** Factors of the prices of tokens by the region in the provider's answer, with 18 decimals. */
export type RegionFactors = Readonly<Record<string, bigint>>;

/** Prices of one call. */
export interface CallPrice {
  source: PriceSource;
  version: string;
  list: PriceList;
  tools: ToolPrices;
  regions: RegionFactors;
}

/** The cost of a call without tokens and without calls of tools at any price, and of one free of charge. */
export const free: Cost = { costPico: 0n, source: null, version: null };

/** The cost of a call. Null if the call, its region, a class of its tokens or a called tool has no price. */
export function costBy(price: CallPrice | null, usage: Usage): Cost | null {
  if (isFree(usage)) return free;
  const factor = price === null ? null : factorOf(price.regions, usage);
  if (price === null || factor === null) return null;
  const callParts = partsAt(price.list, usage, factor);
  const fees = usage.toolCalls === undefined ? 0n : toolCost(price.tools, usage.toolCalls);
  if (callParts === null || fees === null) return null;
  const parts = addParts(callParts, { ...noParts, fees });
  return { costPico: sumOfParts(parts), source: price.source, version: price.version, parts };
}

function factorOf(regions: RegionFactors, { region }: Usage): bigint | null {
  if (region === undefined) return wholeFactor;
  return Object.hasOwn(regions, region) ? (regions[region] ?? null) : null;
}

export function isFree({ inputTokens, outputTokens, toolCalls }: Usage): boolean {
  if (inputTokens + outputTokens !== 0) return false;
  return toolCalls === undefined || Object.keys(toolCalls).length === 0;
}

/**
 * The charge to a budget for a call without a cost, since a class, a tier or a tool of it has no price: its tokens at
 * the highest rate of any list, and the tools with a price.
 */
export function chargeAt(lists: readonly PriceList[], tools: ToolPrices, usage: Usage): bigint {
  const steps = lists.flatMap(({ base, above }) => [base, ...above.map(({ rates }) => rates)]);
  const rate = highest(steps.map(highestRate));
  const call = highest(steps.map((rates) => rates.call));
  const tokens = BigInt(toTokens(usage.inputTokens)) + BigInt(toTokens(usage.outputTokens));
  const pricedTools = Object.entries(usage.toolCalls ?? {}).filter(
    ([tool]) => tools[tool as BilledTool] !== undefined,
  );
  const pricedCost = toolCost(tools, Object.fromEntries(pricedTools) as ToolCalls) ?? 0n;
  return capped((tokens * rate + call) / ratesPerPico + 1n + pricedCost);
}

function highestRate(rates: Rates): bigint {
  return highest(tokenClasses.map((name) => rates[name]));
}

/** The cost of calls of the provider's tools; null where one has no price. */
export function toolCost(prices: ToolPrices, calls: ToolCalls): bigint | null {
  let sum = 0n;
  for (const tool of billedTools) {
    const count = toTokens(calls[tool] ?? 0);
    if (count === 0) continue;
    const price = prices[tool];
    if (price === undefined) return null;
    sum += BigInt(count) * price;
  }
  return capped(sum);
}

/** Decimals of a rate in USD per million tokens. */
export const rateDecimals = 18;
export const ratesPerPico = 10n ** 12n;
/** A rate is so many times its pico-USD per million tokens. */
export const ratesPerUsdPico = 10n ** 6n;
/** The factor of a price without a surcharge. */
export const wholeFactor = 10n ** BigInt(rateDecimals);

/**
 * A decimal number as an integer of 10^-18. Further digits are rounded half to even. Throws a `RangeError` when the
 * text is no decimal number.
 */
export function parseRate(text: string): bigint {
  const match = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/.exec(text);
  if (match === null) throw new RangeError(`${text} is not a decimal number`);
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const shift = rateDecimals - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  return shift >= 0 ? digits * 10n ** BigInt(shift) : divideHalfEven(digits, 10n ** BigInt(-shift));
}

/** Prices of cached tokens in thousandths of the price of input, by a rule of the vendor. */
export type CacheFactors = Readonly<Partial<Record<'cachedInput' | 'cacheWrite' | 'cacheWrite1h', bigint>>>;

/**
 * Adds missing prices of classes billed as another class: cached tokens as the same tokens not cached, reasoning as
 * output, images and video in the input as text. Audio, and images in the output, have no parent class and stay
 * unpriced, and so do cache writes without a rule in `caches`, which may have one for cached tokens, too.
 */
export function completeRates(stated: StatedRates, caches: CacheFactors = {}): Rates {
  const { input, output, inputAudio } = stated;
  const rateBy = (factor: bigint | undefined): bigint | undefined =>
    input === undefined || factor === undefined ? undefined : (input * factor) / 1_000n;
  const cachedInput = stated.cachedInput ?? rateBy(caches.cachedInput) ?? input;
  return {
    input,
    cachedInput,
    cacheWrite: stated.cacheWrite ?? rateBy(caches.cacheWrite),
    cacheWrite1h: stated.cacheWrite1h ?? rateBy(caches.cacheWrite1h),
    inputAudio,
    cachedInputAudio: stated.cachedInputAudio ?? inputAudio,
    inputImage: stated.inputImage ?? input,
    cachedInputImage: stated.cachedInputImage ?? stated.inputImage ?? cachedInput,
    inputVideo: stated.inputVideo ?? input,
    cachedInputVideo: stated.cachedInputVideo ?? stated.inputVideo ?? cachedInput,
    output,
    reasoning: stated.reasoning ?? output,
    outputAudio: stated.outputAudio,
    outputImage: stated.outputImage,
    outputVideo: stated.outputVideo,
    call: stated.call ?? 0n,
  };
}

/** A list with a step at each start: `ratesAt` returns the prices of a call of so many input tokens. */
export function priceList(starts: Iterable<number>, ratesAt: (inputTokens: number) => Rates): PriceList {
  const ascending = [...new Set(starts)].sort((a, b) => a - b);
  return {
    base: ratesAt(0),
    above: ascending.map((inputTokens) => ({ inputTokens, rates: ratesAt(inputTokens + 1) })),
  };
}

/** The prices of tokens in batches, half of the others; a fee for each call stays whole. */
export function halved(list: PriceList): PriceList {
  return {
    base: halfOf(list.base),
    above: list.above.map(({ rates, ...step }) => ({ ...step, rates: halfOf(rates) })),
  };
}

function halfOf({ call, ...rates }: Rates): Rates {
  const halves = Object.entries(rates).map(([name, rate]) => [name, rate === undefined ? rate : rate / 2n]);
  return { ...(Object.fromEntries(halves) as Record<TokenClass, bigint | undefined>), call };
}

export function ratesFor(list: PriceList, inputTokens: number): Rates {
  return list.above.findLast((step) => inputTokens > step.inputTokens)?.rates ?? list.base;
}

/** The part of a cost that pays for a class of tokens. */
const partByClass: Readonly<Record<TokenClass, CostPart>> = {
  input: 'input',
  inputAudio: 'input',
  inputImage: 'input',
  inputVideo: 'input',
  cachedInput: 'cached_input',
  cachedInputAudio: 'cached_input',
  cachedInputImage: 'cached_input',
  cachedInputVideo: 'cached_input',
  cacheWrite: 'cache_write',
  cacheWrite1h: 'cache_write',
  output: 'output',
  reasoning: 'output',
  outputAudio: 'output',
  outputImage: 'output',
  outputVideo: 'output',
};

export const noParts = Object.fromEntries(costPartNames.map((name) => [name, 0n])) as CostParts;

/**
 * The cost of one call in parts, with a sum that is rounded once, half to even. Each of its samplings has the prices for
 * its own input. Null where a class with tokens in it has no price. `factor`: of the prices of tokens, with 18 decimals.
 */
export function partsAt(list: PriceList, usage: Usage, factor = wholeFactor): CostParts | null {
  const exact = { ...noParts, fees: ratesFor(list, usage.inputTokens).call * wholeFactor };
  for (const sampling of usage.samplings ?? [usage]) {
    const rates = ratesFor(list, sampling.inputTokens);
    const tokensBy = partsOf(sampling);
    for (const name of tokenClasses) {
      const tokens = toTokens(tokensBy[name]);
      if (tokens === 0) continue;
      const rate = rates[name];
      if (rate === undefined) return null;
      exact[partByClass[name]] += BigInt(tokens) * rate * factor;
    }
  }
  return roundParts(exact, (sum) => capped(divideHalfEven(sum, ratesPerPico * wholeFactor)));
}

/** The sum of two costs, in parts. */
export function addParts(one: CostParts, other: CostParts): CostParts {
  const sums = { ...one };
  for (const name of costPartNames) sums[name] += other[name];
  return roundParts(sums, capped);
}

export function sumOfParts(parts: CostParts): bigint {
  return costPartNames.reduce((sum, name) => sum + parts[name], 0n);
}

/**
 * Rounds parts such that their sum is the rounded sum: each becomes the step from one rounded sum to the next. `round`
 * never falls, so no part is negative.
 */
function roundParts(exact: CostParts, round: (sum: bigint) => bigint): CostParts {
  const parts = { ...exact };
  let sum = 0n;
  let before = 0n;
  for (const name of costPartNames) {
    if (exact[name] === 0n) continue;
    sum += exact[name];
    const after = round(sum);
    parts[name] = after - before;
    before = after;
  }
  return parts;
}

/**
 * The highest cost of calls within the bounds: every token at the highest price of its direction, in the most expensive
 * step within reach of a call; at the highest known rate where the request needs a class without a price. Null without
 * any known rate.
 */
export function mostCostAt(list: PriceList, most: CostBounds): bigint | null {
  const longest = most.calls?.input ?? most.input;
  const reachable = list.above.filter((step) => longest > step.inputTokens);
  return highestOf([list.base, ...reachable.map(({ rates }) => rates)].map((rates) => mostAt(rates, most)));
}

function mostAt(rates: Rates, most: CostBounds): bigint | null {
  const known = tokenClasses.some((name) => rates[name] !== undefined);
  if (!known && most.input + most.output > 0) return null;
  const needed = new Set<TokenClass>(most.classes);
  const rateOf = (classes: readonly TokenClass[], text: TokenClass): bigint =>
    classes.some((name) => (name === text || needed.has(name)) && rates[name] === undefined)
      ? highestRate(rates)
      : highest(classes.map((name) => rates[name]));
  const input = BigInt(toTokens(most.input)) * rateOf(inputClasses, 'input');
  const output = BigInt(toTokens(most.output)) * rateOf(outputClasses, 'output');
  const count = BigInt(most.calls?.count ?? 1);
  const exact = count * rates.call + input + output;
  // Rounded up. A model without a charge costs nothing, and needs no room in a budget.
  return exact === 0n ? 0n : capped(exact / ratesPerPico + count);
}

/** The highest of some costs; null where one of them is not known. */
export function highestOf(costs: readonly (bigint | null)[]): bigint | null {
  const known = costs.filter((cost) => cost !== null);
  return known.length < costs.length ? null : highest(known);
}

/** The cost of a run from its calls, in their order; null is a call without a price. */
export function sumCosts(costs: readonly (Cost | null)[]): RunCost {
  const known = costs.filter((cost) => cost !== null);
  const priced = known.length === costs.length;
  const last = known.findLast((cost) => cost.source !== null);
  const [source, version] = [last?.source ?? null, last?.version ?? null];
  const sum = known.reduce((total, cost) => total + cost.costPico, 0n);
  return { costPico: priced || source !== null ? capped(sum) : null, priced, source, version };
}

/** The highest of the known amounts, at least 0. */
function highest(amounts: readonly (bigint | undefined)[]): bigint {
  return amounts.reduce<bigint>((most, next) => (next !== undefined && next > most ? next : most), 0n);
}

/** For values from 0 on. */
function divideHalfEven(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  const twice = (value % by) * 2n;
  return twice > by || (twice === by && quotient % 2n === 1n) ? quotient + 1n : quotient;
}
