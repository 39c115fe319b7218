import { cappedPico } from '@gatehouse/kit/money';
import type { RunCost } from '../catalogue/price.ts';

/** A call or a run with what it costs. */
export interface Charged {
  cost: Pick<RunCost, 'costPico'> | null;
  chargePico?: bigint | undefined;
}

/** Amount charged to budgets: the cost, or for what has no price an amount of its own, never 0 for tokens. */
export function chargeOf({ cost, chargePico }: Charged): bigint {
  return chargePico ?? cost?.costPico ?? 0n;
}

export function sumCharges(calls: readonly Charged[]): bigint {
  return cappedPico(calls.reduce((sum, call) => sum + chargeOf(call), 0n));
}

/** The charge for a call: its cost where it has one, else at least what was reserved for it. */
export function chargeFor(
  { cost, known }: { cost: { costPico: bigint } | null; known: bigint },
  reservedPico: bigint,
): bigint {
  if (cost !== null) return cost.costPico;
  return cappedPico(known > reservedPico ? known : reservedPico);
}
