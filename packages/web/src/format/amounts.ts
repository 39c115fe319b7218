/** Amounts as the API returned them, written for people. They are never rounded: each digit is the API's. */

/** Decimal text in USD with at least two decimals: `12.340500000000` is `$12.3405`. */
export function usd(amount: string): string {
  const [whole = '0', decimals = ''] = amount.split('.');
  const digits = decimals.replace(/0+$/, '').padEnd(2, '0');
  return `$${grouped(whole)}.${digits}`;
}

/** A count, with thousands separated. */
export function count(value: number): string {
  const [whole = '', decimals] = String(value).split('.');
  return decimals === undefined ? grouped(whole) : `${grouped(whole)}.${decimals}`;
}

/** An amount of a limit: money is text, all else a number. */
export function amount(value: number | string | null): string {
  if (value === null) return 'unknown';
  return typeof value === 'string' ? usd(value) : count(value);
}

/** Milliseconds as people say them. */
export function milliseconds(value: number | null): string {
  return value === null ? '–' : `${count(value)} ms`;
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
