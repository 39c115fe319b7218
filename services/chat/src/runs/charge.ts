import { cappedPico } from '@gatehouse/kit/money';
import type { RunCost } from '../catalogue/price.ts';
import type { AttemptStart } from './run.ts';

/** JSON of the charges of a call to no budget. */
const noBudgets = '[]';

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

/** Charges of a run to the same budgets. */
export interface RunCharge {
  /** JSON; null for those of the run's first call. */
  charges: string | null;
  costPico: bigint;
}

/** The charges of a run by the budgets of its calls: most runs have one. */
export function chargesByBudgets(
  end: Charged,
  calls: readonly (Charged & Pick<AttemptStart, 'charges'>)[],
): RunCharge[] {
  if (calls.every(({ charges }) => charges === undefined))
    return [{ charges: null, costPico: chargeOf(end) }];
  let charges: string | null = null;
  const charged = calls.map((call) => {
    if (call.charges !== undefined) charges = JSON.stringify(call.charges);
    return { charges, call };
  });
  return [...Map.groupBy(charged, (each) => each.charges)]
    .filter(([budgets]) => budgets !== noBudgets)
    .map(([budgets, some]) => ({ charges: budgets, costPico: sumCharges(some.map(({ call }) => call)) }));
}
