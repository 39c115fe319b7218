/** Amounts as the API returned them, written for people. */

/** Decimal text in USD with all of its digits, at least two decimals: `12.340500000000` is `$12.3405`. */
export function usd(amount: string): string {
  const [whole = '0', decimals = ''] = amount.split('.');
  const digits = decimals.replace(/0+$/, '').padEnd(2, '0');
  return `$${grouped(whole)}.${digits}`;
}

/** Smaller amounts are only said to be smaller. */
const smallestUsd = '0.000001';
const picosADollar = 12;

/**
 * Decimal text in USD as people read it: cents from a dollar on, below it two significant digits. `0.016318260000` is
 * `$0.016`, `1234.5678` is `$1,234.57`. The exact text belongs beside it.
 */
export function shortUsd(amount: string): string {
  const [whole = '0', decimals = ''] = amount.split('.');
  const digits = decimals.padEnd(picosADollar, '0');
  const zeros = /^0*/.exec(digits)?.[0].length ?? 0;
  if (BigInt(whole) === 0n && zeros === digits.length) return '$0.00';
  if (BigInt(whole) === 0n && compareDecimals(amount, smallestUsd) < 0) return `<$${smallestUsd}`;
  const places = BigInt(whole) === 0n ? Math.max(2, zeros + 2) : 2;
  const scale = 10n ** BigInt(digits.length - places);
  const rounded = (BigInt(whole + digits) + scale / 2n) / scale;
  const text = String(rounded).padStart(places + 1, '0');
  return usd(`${text.slice(0, -places)}.${text.slice(-places)}`);
}

/** A count, with thousands separated. */
export function count(value: number): string {
  const [whole = '', decimals] = String(value).split('.');
  return decimals === undefined ? grouped(whole) : `${grouped(whole)}.${decimals}`;
}

/** Milliseconds in the unit that people use: 1,340 are `1.34 s`. */
export function milliseconds(value: number | null): string {
  if (value === null) return '–';
  if (value < 1_000) return `${count(Math.round(value * 10) / 10)} ms`;
  const seconds = value / 1_000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Compares decimal texts by value, without a float between. */
export function compareDecimals(one: string, other: string): number {
  const [a, b] = [comparable(one), comparable(other)];
  const length = Math.max(a.whole.length, b.whole.length);
  const [left, right] = [a, b].map(({ whole, decimals }) => whole.padStart(length, '0') + decimals);
  return (left ?? '') < (right ?? '') ? -1 : (left ?? '') > (right ?? '') ? 1 : 0;
}

function comparable(text: string): { whole: string; decimals: string } {
  const [whole = '', decimals = ''] = text.split('.');
  return { whole, decimals: decimals.padEnd(12, '0') };
}
