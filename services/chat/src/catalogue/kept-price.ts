import type { FeeTool } from '@gatehouse/dialects/usage/fee-tools';
import { regionFactors } from './catalogue-price.ts';
import type { CallPrice } from './price.ts';

/** Prices as text, for calls of long duration: the catalogue and its lists change meanwhile. */

/** Fees reserved for the tools of a batch's requests, by the way in which answers count their calls. */
export interface ReservedFee extends Pick<FeeTool, 'counted'> {
  pico: bigint;
  /** The number of requests they are for. */
  requests: number;
}

export function priceText(price: CallPrice, fees: readonly ReservedFee[] = []): string {
  return JSON.stringify({ ...price, fees }, (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

/** Reads the text of `priceText`. Classes without a price have no member in it, regions none in version 0.3.0. */
export function parsePrice(text: string): CallPrice {
  const stored = JSON.parse(text, amounts) as Omit<CallPrice, 'regions'> &
    Partial<Pick<CallPrice, 'regions'>>;
  const { source, version, list, tools, regions = regionFactors({}) } = stored;
  return { source, version, list, tools, regions };
}

/** Reads the fees in the text of `priceText`, which are missing in prices of version 0.3.0. */
export function parseFees(text: string): ReservedFee[] {
  const { fees = [] } = JSON.parse(text, amounts) as { fees?: ReservedFee[] };
  return fees;
}

const words: ReadonlySet<string> = new Set(['source', 'version', 'counted']);

function amounts(name: string, value: unknown): unknown {
  return typeof value === 'string' && !words.has(name) ? BigInt(value) : value;
}
