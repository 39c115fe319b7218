const decimals = 12;

/** An amount in pico-USD as the contract writes it: `123456` is "0.000000123456". */
export function usdOf(pico: bigint): string {
  const digits = pico.toString().padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
