/** Money is integer pico-USD (10^-12 USD) inside, and decimal text of USD outside. */

const decimals = 12;

/** An amount as the contract writes it: `123456` is "0.000000123456". */
export function usdOf(pico: bigint): string {
  const digits = pico.toString().padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** The amount of a text of at most twelve decimals, such as "12.50". */
export function picoOf(usd: string): bigint {
  const [whole = '', fraction = ''] = usd.split('.');
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}
