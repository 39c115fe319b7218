import { setImmediate } from 'node:timers/promises';
import { PolicyIndex, type Counter, type MatchedPolicy, type RunFacts } from '@gatehouse/kit/policy-matching';
import { sessionBudgetPolicy } from '@gatehouse/kit/session-budget';
import { inTenantOrder, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { openCounterKey } from '@gatehouse/secrets/counter-key';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { countersAtOnce } from '../bounds.ts';
import { tightest, type CallerLimit, type RunToLimit } from '../limits/caller-limits.ts';
import { findCountedPolicies } from '../limits/counted-policy-store.ts';
import { limitName, setResources, type SetResource } from '../limits/leases.ts';
import { findHeld } from '../limits/limit-store.ts';
import { findCounterRows, type CounterAsk } from '../limits/policy-counter-store.ts';
import { counterWindow } from '../limits/policy-counters.ts';
import type { NameForm, ResolvedUser } from '../users/user-system-store.ts';
import { foldedName } from '../users/user.ts';
import { nameForTenant } from '../shared/holder.ts';
import type { EnabledPolicy } from './enabled-policy.ts';

interface ShownPolicy extends MatchedPolicy {
  name: string;
}

/** An ask for the use of a counter. */
type ShownAsk = CounterAsk & {
  policy: Pick<ShownPolicy, 'name' | 'per'>;
  /** The value as it is shown. */
  label: string;
};

/** A limit of a counter. */
export interface CounterLimit extends CallerLimit {
  /** The id of the counter. */
  subjectId: string;
}

interface Lookups {
  keyRing: KeyRing;
  findEnabled: (tenantId: string) => Promise<readonly EnabledPolicy[]>;
  findUser: (form: NameForm) => Promise<ResolvedUser | null>;
}

/** The limits of policies for runs. `pool` acts as `tenant_system`, which sees the overrides of the owner's policies. */
export class PolicyUseSystemStore extends Store {
  readonly #lookups: Lookups;

  constructor(pool: Pool, lookups: Lookups) {
    super(pool);
    this.#lookups = lookups;
  }

  /**
   * The limits that refuse a run first, and how much of each is used. The user's groups are looked up. A user in many
   * groups has thousands of counters: they are read in parts, between which other requests go on.
   */
  async find(tenantId: string, { facts, model }: RunToLimit): Promise<readonly CallerLimit[]> {
    const enabled = await this.#lookups.findEnabled(tenantId);
    const policies: ShownPolicy[] = [
      ...enabled
        .filter(({ enforce }) => enforce)
        .map((policy) => matchedPolicy(this.#lookups.keyRing, policy)),
      ...(facts.sessionId === null ? [] : [sessionBudgetPolicy(tenantId)]),
    ];
    if (policies.length === 0) return [];
    const user = await this.#userOf(tenantId, facts.userId);
    const counters: Counter<ShownPolicy>[] = [];
    for (const policy of policies) {
      counters.push(...new PolicyIndex([policy]).matching({ ...facts, ...user }).countersOf(model));
      await setImmediate();
    }
    return inTenantOrder(this.pool, tenantId, async (db) => {
      let limits: readonly CallerLimit[] = [];
      for (let from = 0; from < counters.length; from += countersAtOnce) {
        const asks = counters
          .slice(from, from + countersAtOnce)
          .flatMap((counter) => setResources.map((resource) => askOf(counter, resource)));
        limits = tightest([...limits, ...(await readUse(db, tenantId, asks))]);
      }
      return limits;
    });
  }

  /** The id and the groups of the user with this name, who need not be in the directory. */
  async #userOf(tenantId: string, name: string | null): Promise<Pick<RunFacts, 'userId' | 'groups'>> {
    if (name === null) return { userId: null, groups: [] };
    const user = await this.#lookups.findUser({ tenantId, folded: foldedName(name) });
    return { userId: user?.userId ?? name, groups: user?.groups ?? [] };
  }
}

/** The limits of counters and how much of each is used; counters without a row have used nothing. */
export async function readUse(
  db: Queryable,
  tenantId: string,
  asks: readonly ShownAsk[],
): Promise<CounterLimit[]> {
  const { policies, calendar } = await findCountedPolicies(db, tenantId, asks);
  const limited = asks.flatMap((ask) => {
    const counted = policies.get(ask.subjectId);
    const limit = counted?.limits[ask.resource] ?? null;
    const isRefusing = ask.resource !== 'budget' || counted?.chargesOnly === false;
    return counted === undefined || limit === null || !isRefusing ? [] : [{ ask, counted, limit }];
  });
  if (limited.length === 0) return [];
  const rows = await findCounterRows(
    db,
    tenantId,
    limited.map(({ ask }) => ask),
  );
  const held = await findHeld(db, tenantId, {
    subjectIds: [...new Set(limited.map(({ ask }) => ask.subjectId))],
    exceptHolder: null,
  });
  const rowOf = new Map(rows.map((row) => [limitName({ ...row, subjectId: row.id }), row]));
  const heldOf = Map.groupBy(held, limitName);
  return limited.map(({ ask: { resource, policy, label, subjectId }, counted, limit }) => {
    const name = limitName({ subjectId, resource });
    const row = rowOf.get(name) ?? null;
    const { window, isNew } = counterWindow(counted, { resource, calendar, row });
    const holds = (heldOf.get(name) ?? []).filter(({ windowStart }) => windowStart === window.start);
    return {
      ...{ subjectId, resource },
      window: windowName(resource, counted.period),
      limitUse: {
        ...{ limit, window, name: window.start },
        used: isNew || row === null || row.used < 0n ? 0n : row.used,
        othersHold: holds.reduce((sum, { amount }) => sum + amount, 0n),
        inUse: holds.reduce((sum, { inUse }) => sum + inUse, 0n),
      },
      policy: policy.name,
      value: policy.per === null ? null : label,
    };
  });
}

function windowName(resource: SetResource, period: CallerLimit['window']): CallerLimit['window'] {
  if (resource === 'concurrency') return null;
  return resource === 'budget' ? period : 'minute';
}

function matchedPolicy(keyRing: KeyRing, policy: EnabledPolicy): ShownPolicy {
  const { id, tenantId, selection, per, fromOwner, counterKey } = policy;
  const { api_keys: apiKeys, ...select } = selection;
  return {
    ...{ id, per, name: nameForTenant(policy), countsOwnKeys: !fromOwner },
    counterKey: openCounterKey(keyRing, { tenantId, policyId: id }, counterKey),
    select: { ...select, ...(apiKeys !== undefined && { apiKeys }) },
  };
}

function askOf({ id, policy, value, label, user }: Counter<ShownPolicy>, resource: SetResource): ShownAsk {
  const counter = {
    ...{ policyId: policy.id, value, userId: user?.id ?? null, groups: user?.groups ?? [] },
    // It opens no counter.
    apiKeyId: null,
  };
  return { subjectId: id, resource, counter, policy, label };
}
