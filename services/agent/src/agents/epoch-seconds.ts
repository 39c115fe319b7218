/** A time as RPC messages carry it: in seconds since the epoch. */
export function epochSeconds(time: Date): bigint {
  return BigInt(Math.floor(time.getTime() / 1_000));
}
