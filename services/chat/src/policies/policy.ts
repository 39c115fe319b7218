import { policyPers, type Counter, type MatchedPolicy } from '@gatehouse/kit/policy-matching';
import { selectOf } from '@gatehouse/kit/selection-index';
import { sessionBudgetPolicy } from '@gatehouse/kit/session-budget';
import { Resource, type Policy as PolicyMessage } from '@gatehouse/proto/tenant/v1/tenant';

/** An enabled policy of a tenant, or of the owner for it. */
export interface Policy extends MatchedPolicy {
  name: string;
  /** The resources limited by it or by one of its overrides. */
  limited: readonly Resource[];
  /** False: its budget counts what has ended and refuses nothing. */
  enforce: boolean;
  /** For the budget of a session: the amount set by the request, or null. Absent for others. */
  requestedPico?: bigint | null;
}

export type PolicyCounter = Counter<Policy>;

/** Whether a subject of limits is a counter: ids of tenants and keys have another version. */
export function isCounterId(subjectId: string): boolean {
  return subjectId.charAt(14) === '8';
}

/** A policy as the tenant service sends it, with the key of its counters in the tenant. */
export function policyOf(
  { id, name, per, limited, enforce, fromOwner, ...names }: PolicyMessage,
  counterKey: Buffer,
): Policy {
  return {
    ...{ id, name, limited, enforce },
    select: selectOf(names),
    per: policyPers.find((known) => known === per) ?? null,
    ...{ countsOwnKeys: !fromOwner, counterKey },
  };
}

/** The policy by which the budget of a session counts. `requestedPico`: the amount set by the request, if any. */
export function sessionBudget(tenantId: string, requestedPico: bigint | null): Policy {
  return {
    ...{ ...sessionBudgetPolicy(tenantId), limited: [Resource.BUDGET], enforce: true },
    requestedPico,
  };
}
