import type { LocalCredentials } from '@gatehouse/local/credentials';
import { makeTenant } from '@gatehouse/test/tenants';
import { closedLoop, type Target } from './load.ts';

/** Limits of every kind, none of which is reached. */
const limits = { requests_per_minute: 10_000_000, tokens_per_minute: 1_000_000_000, max_concurrent: 10_000 };
const budget = { usd: '1000000', period: 'day' };

/** A tenant with limits, through its user's key. */
export async function limitedTenant({ url, owner_key: ownerKey }: LocalCredentials): Promise<Target> {
  const { userKey } = await makeTenant({ url, ownerKey }, { limits, budget });
  return { name: 'gateway, limited', url, headers: { authorization: `Bearer ${userKey}` } };
}

/** Requests per second with limits by those without, for each of so many pairs, one after the other. */
export async function pairsOf(
  limited: Target,
  free: Target,
  options: { pairs: number; seconds: number },
): Promise<number[]> {
  const ratios: number[] = [];
  for (let pair = 0; pair < options.pairs; pair += 1) {
    // The targets take turns in going first: the second one finds the machine warmer.
    const order = pair % 2 === 0 ? [limited, free] : [free, limited];
    const perSecond = new Map<Target, number>();
    for (const target of order)
      perSecond.set(target, (await closedLoop(target, 64, options.seconds)).perSecond);
    ratios.push((perSecond.get(limited) ?? NaN) / (perSecond.get(free) ?? NaN));
  }
  return ratios;
}
