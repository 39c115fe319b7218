import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { UserGroup } from '@gatehouse/shell/user-directory';
import type { Model } from '../catalogue/catalogue.ts';
import type { CountedCall, Payer } from '../limits/limiter.ts';
import type { RequestAmounts } from '../limits/request-amounts.ts';

/** The policies in which a batch counts, as one run; without their tokens of a minute. Undefined without any. */
export function countedBatch(
  { settings, apiKeyId }: Payer,
  { userId, groups, ownKey, model, amounts }: BatchFacts,
): CountedCall | undefined {
  const facts = { userId, groups, agent: null, apiKeyId, sessionId: null, ownKey };
  const counters = settings.policies?.matching(facts).countersOf(model.id) ?? [];
  if (counters.length === 0) return undefined;
  const withoutTokens = counters.map((counter) => ({
    ...counter,
    policy: {
      ...counter.policy,
      limited: counter.policy.limited.filter((resource) => resource !== Resource.TOKENS),
    },
  }));
  return { counters: withoutTokens, amounts, hasAlternative: false };
}

interface BatchFacts {
  userId: string | null;
  groups: readonly UserGroup[];
  /** Whether it is on a provider key of the tenant. */
  ownKey: boolean;
  model: Model;
  amounts: RequestAmounts;
}
