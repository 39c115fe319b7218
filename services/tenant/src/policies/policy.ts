import type {
  CreateOwnerPolicy,
  CreatePolicy,
  PatchOwnerPolicy,
  PatchPolicy,
  PolicyBudget,
  PolicyLimits,
  PolicyPer,
  PutPolicyOverride,
} from '@gatehouse/contract/policies';
import { AppError, invalidValue } from '@gatehouse/kit/errors';
import { foldedGroup } from '@gatehouse/kit/folded-group';
import { isUuid } from '@gatehouse/kit/ids';
import { sessionBudgetName } from '@gatehouse/kit/session-budget';
import { selectionOf, type Selection } from './selection.ts';

/** Before the name of a group in an override for its users. */
export const groupPrefix = 'group:';

/** The settings of a policy for its administrators. */
export interface PolicySettings {
  name: string;
  /** Names and patterns by field; fields without any are absent. */
  selection: Selection;
  per: PolicyPer | null;
  limits: PolicyLimits;
  budget: PolicyBudget | null;
  alerts: readonly number[];
  enforce: boolean;
  enabled: boolean;
  /** For a policy of the owner: the tenants for which it holds; null for all. Null for one of a tenant. */
  tenants: readonly string[] | null;
}

export interface Policy extends PolicySettings {
  id: string;
  /** Null for a policy of the owner. */
  tenantId: string | null;
  countsSince: Date;
  createdAt: Date;
  updatedAt: Date;
}

/** The amounts of a value of `per`, or of the users of a group. */
export interface Override extends Pick<PutPolicyOverride, 'budget_usd' | 'limits' | 'note'> {
  /** As stored, or with the present name of its group. */
  value: string;
  until: Date | null;
}

/** An override to store. */
export interface NewOverride extends PutPolicyOverride {
  /** The name of a group as it was sent; null for other values. */
  label: string | null;
}

/** The settings of a new policy. Throws `invalid_value`. */
export function newSettings(body: CreatePolicy | CreateOwnerPolicy): PolicySettings {
  const { overrides: _, select, ...settings } = body;
  return checked({ tenants: null, ...settings, selection: selectionOf(select) });
}

/** The settings after a change. Throws `invalid_value`. */
export function patchedSettings(
  current: PolicySettings,
  body: PatchPolicy | PatchOwnerPolicy,
): PolicySettings {
  const { selection, per } = current;
  const tenants = 'tenants' in body ? body.tenants : undefined;
  return checked({
    per,
    name: body.name ?? current.name,
    limits: { ...current.limits, ...body.limits },
    budget: patchedBudget(current.budget, body.budget),
    alerts: body.alerts ?? current.alerts,
    enforce: body.enforce ?? current.enforce,
    enabled: body.enabled ?? current.enabled,
    tenants: tenants === undefined ? current.tenants : tenants,
    selection: selectionOf({ ...selection, ...body.select }),
  });
}

function patchedBudget(current: PolicyBudget | null, patch: PatchPolicy['budget']): PolicyBudget | null {
  if (patch === undefined) return current;
  if (patch === null) return null;
  const period = patch.period ?? current?.period;
  if (period === undefined)
    throw new AppError('missing_required_parameter', 'Missing required field: budget.period.', {
      param: 'budget.period',
    });
  if (current !== null && period !== current.period)
    throw invalidValue('budget.period', `never changes: it is ${JSON.stringify(current.period)}`);
  return { usd: patch.usd, period };
}

/** Whether two selections name the same, in any order, and groups in any case. */
function selectsTheSame(one: Selection, other: Selection): boolean {
  return canonical(one) === canonical(other);
}

/** Whether the counters of a policy begin again after its change: with another selection, or its first budget. */
export function countsAgain(before: PolicySettings, after: PolicySettings): boolean {
  return (
    !selectsTheSame(before.selection, after.selection) || (before.budget === null && after.budget !== null)
  );
}

/** Names in a change of a policy: of users, and keys of agents. */
export interface PolicyNames {
  users: readonly string[];
  agents: readonly string[];
}

/** Look-ups of ids by name. A name without an id stands for itself. */
export type PolicyIds = Record<keyof PolicyNames, (name: string) => string>;

const isItself = (name: string): string => name;
export const namesAreIds: PolicyIds = { users: isItself, agents: isItself };

/** The selection in a change; one of the owner has no users. */
export interface SelectedUsers {
  users?: string[] | undefined;
  models?: string[] | undefined;
}

/** `values`: names of values of `per`, as of overrides. */
export function namesIn(
  { per, select }: { per: PolicyPer | null; select?: SelectedUsers | undefined },
  values: readonly string[],
): PolicyNames {
  const users = per === 'user' ? values.filter((value) => !value.startsWith(groupPrefix)) : [];
  return {
    users: [...(select?.users ?? []), ...users],
    agents: per === 'agent' ? values.filter((value) => !isUuid(value)) : [],
  };
}

/** The change with the ids of its users. */
export function withUserIds<Body extends { select?: SelectedUsers | undefined }>(
  body: Body,
  ids: PolicyIds,
): Body {
  const named = body.select?.users;
  return named === undefined ? body : { ...body, select: { ...body.select, users: named.map(ids.users) } };
}

/**
 * The value of an override as it is stored, from one of its names: of a user the id, of an agent too; names of groups are
 * the same in any case.
 */
export function overriddenValue(
  { per }: Pick<PolicySettings, 'per'>,
  value: string,
  { users, agents }: PolicyIds,
): string {
  if (per === 'group') return foldedGroup(value);
  if (per === 'agent') return agents(value);
  if (per !== 'user') return value;
  return value.startsWith(groupPrefix)
    ? groupPrefix + foldedGroup(value.slice(groupPrefix.length))
    : users(value);
}

/** An override to store, from the name in the request. */
export function newOverride(
  { per }: Pick<PolicySettings, 'per'>,
  name: string,
  override: PutPolicyOverride,
): NewOverride {
  const isOfGroup = per === 'group' || (per === 'user' && name.startsWith(groupPrefix));
  return { ...override, label: isOfGroup ? name : null };
}

/** Overrides by their values as they are stored. Throws `invalid_value` for one without meaning in the policy. */
export function overridesOf(
  settings: Pick<PolicySettings, 'per' | 'enforce' | 'budget'>,
  overrides: Readonly<Record<string, PutPolicyOverride>>,
  ids: PolicyIds,
): Record<string, NewOverride> {
  const entries = Object.entries(overrides).map(([name, override]) => {
    const value = overriddenValue(settings, name, ids);
    checkOverride(settings, { ...override, value }, 'overrides');
    return [value, newOverride(settings, name, override)] as const;
  });
  if (new Set(entries.map(([value]) => value)).size < entries.length)
    throw invalidValue('overrides', 'names a group, user or agent twice, by different names');
  return Object.fromEntries(entries);
}

/** Throws `invalid_value` for an override without meaning in the policy. `param` names it in the request. */
export function checkOverride(
  { per, enforce, budget }: Pick<PolicySettings, 'per' | 'enforce' | 'budget'>,
  { value, limits, budget_usd: usd }: { value: string } & Pick<PutPolicyOverride, 'limits' | 'budget_usd'>,
  param: string,
): void {
  checkValue(per, value, param);
  if (value === '' || value === groupPrefix) throw invalidValue(param, 'must name a value');
  if (budget === null && typeof usd === 'string')
    throw invalidValue(param, 'the policy has no budget, and so no period');
  if (!enforce && hasLimits(limits ?? {}))
    throw invalidValue(param, 'a policy that refuses nothing has no limits');
}

/** The value of a counter, of a group its name, from one of its names. Throws `invalid_value` for one without counters. */
export function countedValue(policy: Pick<PolicySettings, 'per'>, value: string, ids: PolicyIds): string {
  checkValue(policy.per, value, 'value');
  return overriddenValue(policy, value, ids);
}

/** Values of sessions: those of a user, encoded, or of a key, and digests of long ones. */
const sessionForms = /^(user:[\w.!~*'()%-]+\/|key:[\da-f-]*\/|sha256:)./s;

function checkValue(per: PolicyPer | null, value: string, param: string): void {
  if (per === null) throw invalidValue(param, 'the policy has one counter, without values');
  // A session of a user with deleted data has a UUID.
  if (per === 'session' && !isUuid(value) && !sessionForms.test(value))
    throw invalidValue(param, 'must be user:<encoded user_id>/<session id> or key:<key id>/<session id>');
}

function checked(settings: PolicySettings): PolicySettings {
  const { name, selection, per, limits, budget, enforce } = settings;
  if (isUuid(name)) throw invalidValue('name', 'must not have the form of an id');
  if (name === sessionBudgetName) throw invalidValue('name', 'is reserved for the budgets that requests set');
  if (per === 'group' && selection.groups === undefined)
    throw invalidValue('select.groups', 'must name groups if per is "group"');
  if (!enforce && (budget === null || hasLimits(limits)))
    throw invalidValue('enforce', 'must be true unless there is a budget and there are no limits');
  return { ...settings, alerts: [...new Set(settings.alerts)].sort((a, b) => a - b) };
}

function hasLimits(limits: PolicyLimits): boolean {
  return Object.values(limits).some((limit) => typeof limit === 'number');
}

function canonical(selection: Selection): string {
  const fields = Object.entries(selection).map(
    ([field, names]) => [field, (field === 'groups' ? names.map(foldedGroup) : [...names]).sort()] as const,
  );
  return JSON.stringify(fields.sort(([one], [other]) => (one < other ? -1 : 1)));
}
