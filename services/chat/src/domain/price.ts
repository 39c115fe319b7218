import { partsOf, type Usage, type UsageParts } from './usage.ts';

/** Money is integer pico-USD (10^-12 USD). */

export type PriceSource = 'catalogue' | 'genai-prices';

/** What a provider call costs; `source` is null where there were no tokens, which cost nothing at any price. */
export interface Cost {
  costPico: bigint;
  source: PriceSource | null;
}

/** What a run costs. */
export interface RunCost {
  /** Of the calls whose price is known; null when there are none such, but unpriced ones. */
  costPico: bigint | null;
  /** Whether every call with tokens in it has a price. */
  priced: boolean;
  /** Of the last call that has one. */
  source: PriceSource | null;
}

/** Prices of one model in 10^-24 USD per token, which is USD per million tokens with 18 decimals. */
export interface Rates {
  input: bigint;
  cachedInput: bigint;
  cacheWrite: bigint;
  /** Undefined where the model has no such price, as of models that embed or draw. */
  output: bigint | undefined;
  reasoning: bigint | undefined;
  /** In 10^-24 USD for each call. */
  call: bigint;
}

const rateDecimals = 18;
const ratesPerPico = 10n ** 12n;

/** PostgreSQL's bigint, at nine million dollars: a price that is a slip of the pen must not keep a run from ending. */
const mostPico = 2n ** 63n - 1n;

/**
 * A decimal number as an integer of 10^-18. Digits beyond that are rounded half to even. Throws a `RangeError` when the
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

/** The cost of one call, rounded once, half to even. Null where a part with tokens in it has no price. */
export function costAt(rates: Rates, usage: Usage): bigint | null {
  const parts = partsOf(usage);
  let sum = rates.call;
  for (const [part, rate] of ratesOfParts(rates)) {
    const tokens = parts[part];
    if (tokens === 0) continue;
    if (rate === undefined) return null;
    sum += BigInt(tokens) * rate;
  }
  return capped(divideHalfEven(sum, ratesPerPico));
}

/**
 * The most that a call can cost that reads and writes so many tokens at most: every one at the dearest price of its
 * kind. Null where one of the prices is not known.
 */
export function mostCostAt(rates: Rates, tokens: { input: number; output: number }): bigint | null {
  const output = dearest(rates.output, rates.reasoning);
  if (tokens.output > 0 && output === undefined) return null;
  const input = dearest(rates.input, rates.cachedInput, rates.cacheWrite) ?? 0n;
  const sum = rates.call + BigInt(tokens.input) * input + BigInt(tokens.output) * (output ?? 0n);
  // Rounded up.
  return capped(sum / ratesPerPico + 1n);
}

/** The cost of a run from its calls, in their order; null is a call without a price. */
export function sumCosts(costs: readonly (Cost | null)[]): RunCost {
  const known = costs.filter((cost) => cost !== null);
  const priced = known.length === costs.length;
  const source = known.findLast((cost) => cost.source !== null)?.source ?? null;
  const sum = known.reduce((total, cost) => total + cost.costPico, 0n);
  return { costPico: priced || source !== null ? capped(sum) : null, priced, source };
}

function ratesOfParts(rates: Rates): [keyof UsageParts, bigint | undefined][] {
  return [
    ['uncachedInput', rates.input],
    ['cachedInput', rates.cachedInput],
    ['cacheWrite', rates.cacheWrite],
    ['output', rates.output],
    ['reasoning', rates.reasoning],
  ];
}

function dearest(...rates: (bigint | undefined)[]): bigint | undefined {
  const known = rates.filter((rate) => rate !== undefined);
  return known.length === 0 ? undefined : known.reduce((most, rate) => (rate > most ? rate : most));
}

/** Of what is not negative. */
function divideHalfEven(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  const twice = (value % by) * 2n;
  return twice > by || (twice === by && quotient % 2n === 1n) ? quotient + 1n : quotient;
}

function capped(pico: bigint): bigint {
  return pico > mostPico ? mostPico : pico;
}
