import type { CallPrice, PriceList, Rates } from './price.ts';

/** Prices as text, for calls that end long after they began: the catalogue and its lists change meanwhile. */

type Amounts = Readonly<Record<string, string>>;

interface KeptPrice {
  source: CallPrice['source'];
  version: string;
  list: { base: Amounts; above: readonly { inputTokens: number; rates: Amounts }[] };
  tools: Amounts;
}

export function priceText(price: CallPrice): string {
  return JSON.stringify(price, (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

/** Reads the text of `priceText`. */
export function parsePrice(text: string): CallPrice {
  const { source, version, list, tools } = JSON.parse(text) as KeptPrice;
  return { source, version, list: listOf(list), tools: amountsOf(tools) };
}

function listOf({ base, above }: KeptPrice['list']): PriceList {
  return { base: ratesOf(base), above: above.map((step) => ({ ...step, rates: ratesOf(step.rates) })) };
}

/** Classes without a price have no member in the text. */
function ratesOf(amounts: Amounts): Rates {
  return amountsOf(amounts) as Rates;
}

function amountsOf(amounts: Amounts): Record<string, bigint> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, BigInt(amount)]));
}
