import type { Operation } from '@gatehouse/dialects/dialect';
import { uncountedTools } from '@gatehouse/dialects/usage/fee-tools';
import type { Usage } from '@gatehouse/dialects/usage/usage';
import { cappedPico } from '@gatehouse/kit/money';
import type { AttemptOutcome } from '../providers/open-call.ts';
import { chargeFor } from '../runs/charge.ts';
import type { Attempt } from '../runs/run.ts';
import type { ActiveRunOptions, OpenAttempt } from './active-run-options.ts';

/**
 * The cost of an ended provider call. Without a price, or where it can't be computed, at least the reservation is
 * charged.
 */
export function callCost(
  { pricing, log, feeTools, identity }: Pick<ActiveRunOptions, 'pricing' | 'log' | 'feeTools' | 'identity'>,
  { model, calledAt: at, reservation: { reservedPico }, side }: OpenAttempt,
  { usage, status, serviceTier = null }: AttemptOutcome & { usage: Usage },
): Pick<Attempt, 'cost' | 'chargePico'> {
  const brokeOff = status !== 'ok';
  const operation: Operation = side?.operation ?? identity.operation;
  const call = { operation, at, serviceTier };
  try {
    const cost = pricing.costOf(model, usage, call);
    const tools = side === null ? uncountedTools(feeTools, usage, { brokeOff }) : [];
    const toolsCost = pricing.toolsCost(model, tools, at);
    if (cost !== null)
      return { cost, ...(toolsCost > 0n && { chargePico: cappedPico(cost.costPico + toolsCost) }) };
    const known = pricing.chargeOf(model, usage, call);
    return { cost, chargePico: chargeFor({ cost, known }, reservedPico) };
  } catch (err) {
    log.error({ err, run_id: identity.id }, 'failed to price a provider call');
    return { cost: null, chargePico: reservedPico };
  }
}
