/** Money is integer pico-USD (10^-12 USD) internally, and decimal USD text in the API. */

const decimals = 12;

/** The maximum of 64 bits, the money type of columns and RPCs: nine million dollars. */
export const maxPico = 2n ** 63n - 1n;

/** The nearest amount the database and the RPCs hold. */
export function cappedPico(pico: bigint): bigint {
  if (pico > maxPico) return maxPico;
  return pico < -maxPico ? -maxPico : pico;
}

/** Formats an amount for the API: `123456` becomes "0.000000123456". */
export function usdOf(pico: bigint): string {
  const digits = pico.toString().padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** Parses a USD amount with at most twelve decimals, like "12.50". */
export function picoOf(usd: string): bigint {
  const [whole = '', fraction = ''] = usd.split('.');
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}
