import type { FeeTool } from '@gatehouse/dialects/usage/fee-tools';
import type { CallPrice, PriceList, Rates } from './price.ts';

/** Prices as text, for calls that end long after they began: the catalogue and its lists change meanwhile. */

type Amounts = Readonly<Record<string, string>>;

interface KeptPrice {
  source: CallPrice['source'];
  version: string;
  list: { base: Amounts; above: readonly { inputTokens: number; rates: Amounts }[] };
  tools: Amounts;
  /** Missing in prices of version 0.3.0. */
  fees?: readonly { counted: FeeTool['counted']; pico: string; requests: number }[];
}

/** The fees that are reserved for the tools of a batch's requests, by the way in which answers count their calls. */
export interface ReservedFee extends Pick<FeeTool, 'counted'> {
  pico: bigint;
  /** The requests that they are for. */
  requests: number;
}

export function priceText(price: CallPrice, fees: readonly ReservedFee[] = []): string {
  return JSON.stringify({ ...price, fees }, (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

/** Reads the text of `priceText`. */
export function parsePrice(text: string): CallPrice {
  const { source, version, list, tools } = JSON.parse(text) as KeptPrice;
  return { source, version, list: listOf(list), tools: amountsOf(tools) };
}

/** Reads the fees in the text of `priceText`. */
export function parseFees(text: string): ReservedFee[] {
  const { fees = [] } = JSON.parse(text) as KeptPrice;
  return fees.map((fee) => ({ ...fee, pico: BigInt(fee.pico) }));
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
