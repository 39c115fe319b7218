import { hash } from 'node:crypto';
import { cacheKey } from './cache-key.ts';
import type { MatchedPolicy } from './policy-matching.ts';

/** The name of budgets of sessions, which requests set. No stored policy has it. */
export const sessionBudgetName = 'session-budget';
/** The policy of their counters. */
export const sessionBudgetPolicyId = '00000000-0000-8000-8000-000000000001';

/**
 * The policy of budgets of sessions in a tenant: it counts each session apart. Ids of its counters are digests of tenant
 * and session, which end with the counter.
 */
export function sessionBudgetPolicy(tenantId: string): MatchedPolicy & { name: string } {
  return {
    id: sessionBudgetPolicyId,
    name: sessionBudgetName,
    select: {},
    per: 'session',
    countsOwnKeys: true,
    counterKey: hash('sha256', cacheKey(sessionBudgetName, tenantId), 'buffer'),
  };
}
