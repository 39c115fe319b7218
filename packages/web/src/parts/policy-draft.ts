import type {
  OwnerPolicy,
  Policy,
  PolicyBudget,
  PolicyPer,
  PolicyPeriod,
  PolicySelect,
} from '@gatehouse/contract/policies';
import { unreadable } from '../api/api-error.ts';
import { fieldText, numberOrNull, textOrNull, trimmed } from '../format/changes.ts';
import type { Rate } from './tenant-limits.ts';

export type AnyPolicy = Policy | OwnerPolicy;

/** The fields of a selection with their labels. */
export const selectable: Readonly<Record<keyof PolicySelect, string>> = {
  users: 'Users',
  groups: 'Groups',
  agents: 'Agents',
  api_keys: 'Keys',
  models: 'Models',
};

/** The kinds of counters with their labels: users and groups are of tenants alone. */
export const pers = {
  tenant: {
    ...{ '': 'all together', user: 'user', group: 'group', agent: 'agent', api_key: 'key' },
    ...{ session: 'session', model: 'model' },
  } satisfies Record<PolicyPer | '', string>,
  owner: {
    ...{ '': 'all together', agent: 'agent', api_key: 'key', session: 'session', model: 'model' },
  },
};

export const periods: Readonly<Record<PolicyPeriod, string>> = {
  ...{ hour: 'hour', day: 'day', week: 'week', month: 'month', quarter: 'quarter', year: 'year' },
  total: 'in total',
};

/** The fields as text. */
export interface PolicyDraft extends Record<Rate, string>, Record<keyof PolicySelect, readonly string[]> {
  name: string;
  per: string;
  usd: string;
  period: PolicyPeriod;
  alerts: string;
  enforce: 'true' | 'false';
  /** Only of the owner; empty for all. */
  tenants: readonly string[];
}

export const newPolicy: PolicyDraft = {
  ...{ name: '', per: '', usd: '', period: 'month', alerts: '50, 80, 100', enforce: 'true', tenants: [] },
  ...{ users: [], groups: [], agents: [], api_keys: [], models: [] },
  ...{ requests_per_minute: '', tokens_per_minute: '', max_concurrent: '' },
};

export function policyDraft(policy: AnyPolicy): PolicyDraft {
  const { name, per, limits, budget, alerts, enforce } = policy;
  const select: Partial<PolicySelect> = policy.select;
  return {
    ...newPolicy,
    ...select,
    ...{ name, per: per ?? '', alerts: alerts.join(', '), enforce: enforce ? 'true' : 'false' },
    requests_per_minute: fieldText(limits.requests_per_minute),
    tokens_per_minute: fieldText(limits.tokens_per_minute),
    max_concurrent: fieldText(limits.max_concurrent),
    ...(budget !== null && { usd: budget.usd, period: budget.period }),
    tenants: ('tenants' in policy ? policy.tenants : null) ?? [],
  };
}

/** The settings of a draft as the API takes them, for creation and for changes. Throws an `ApiError`. */
export function policyBody(draft: PolicyDraft, isOwner: boolean) {
  const { name, period, users, groups, agents, api_keys: keys, models, tenants } = draft;
  const budget: PolicyBudget | null = draft.usd === '' ? null : { usd: draft.usd, period };
  return {
    name,
    select: {
      ...(!isOwner && { users: trimmed(users), groups: trimmed(groups) }),
      ...{ agents: trimmed(agents), api_keys: trimmed(keys), models: trimmed(models) },
    },
    limits: {
      requests_per_minute: numberOrNull(draft.requests_per_minute),
      tokens_per_minute: numberOrNull(draft.tokens_per_minute),
      max_concurrent: numberOrNull(draft.max_concurrent),
    },
    budget,
    alerts: percentages(draft.alerts),
    enforce: draft.enforce === 'true',
    ...(isOwner && { tenants: trimmed(tenants).length === 0 ? null : trimmed(tenants) }),
  };
}

/** The settings of a new policy. Throws an `ApiError`. */
export function newPolicyBody(draft: PolicyDraft, isOwner: boolean) {
  // The options have no other value.
  return { ...policyBody(draft, isOwner), per: textOrNull(draft.per) as PolicyPer | null };
}

function percentages(text: string): number[] {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '');
  if (parts.some((part) => !/^\d+$/.test(part)))
    throw unreadable('alerts', 'Write percentages, such as 50, 80, 100.');
  return parts.map(Number);
}
