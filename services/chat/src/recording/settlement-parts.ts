import { maxChargesOfCall } from '../bounds.ts';

/** Settlements in parts for one call each. A settlement may have a charge for each of 64 counters, a key and a tenant. */
export function settlementParts<Settlement extends { charges: readonly unknown[] }>(
  settlements: readonly Settlement[],
): Settlement[][] {
  const parts: Settlement[][] = [];
  let charges = Infinity;
  for (const settlement of settlements) {
    charges += settlement.charges.length;
    if (charges > maxChargesOfCall) {
      parts.push([]);
      charges = settlement.charges.length;
    }
    parts.at(-1)?.push(settlement);
  }
  return parts;
}
