/** As a message carries a time. */
export function epochSeconds(time: Date): bigint {
  return BigInt(Math.floor(time.getTime() / 1_000));
}
