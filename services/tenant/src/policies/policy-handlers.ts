import type { Changes } from '@gatehouse/audited-changes/changes';
import {
  maxPolicies,
  overrideValue,
  type CreateOwnerPolicy,
  type CreatePolicy,
  type listPolicies as listQuery,
  type PatchOwnerPolicy,
  type PatchPolicy,
  type Policy as PolicyBody,
  type PolicyPreview,
  type PutPolicyOverride,
  type ResetPolicy,
} from '@gatehouse/contract/policies';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { pageReply } from '@gatehouse/http/pagination';
import type { Reply } from '@gatehouse/http/reply';
import { orNotFound, pathParameter } from '@gatehouse/http/resource';
import { newId } from '@gatehouse/kit/ids';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { newCounterKey } from '@gatehouse/secrets/counter-key';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { z } from 'zod';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import type { HeldName } from '../shared/holder.ts';
import { lookUpUserIds } from '../shared/user-names-store.ts';
import { findGroupId } from '../users/group-store.ts';
import { describeAgents } from '../shared/agents-client.ts';
import {
  checkOverride,
  countedValue,
  countsAgain,
  namesAreIds,
  namesIn,
  newOverride,
  newSettings,
  overriddenValue,
  overridesOf,
  patchedSettings,
  withUserIds,
  type Policy,
  type PolicyIds,
  type PolicyNames,
  type SelectedUsers,
} from './policy.ts';
import {
  assertFewOverrides,
  changePolicy,
  deleteOverride,
  deleteOverrides,
  deletePolicy,
  findOverride,
  findPer,
  findPolicy,
  insertPolicy,
  listPolicies,
  lockPolicy,
  putOverrides,
  resetCounter,
  resetCounters,
  withOverrides,
} from './policy-store.ts';
import type { PreviewPolicy } from './policy-preview-client.ts';
import { showOverride, showOwnerPolicy, showPolicy, type PolicyWithOverrides } from './policy-views.ts';

type List = Call<unknown, z.output<typeof listQuery>>;
type Create = Call<CreatePolicy | CreateOwnerPolicy>;
type Patch = Call<PatchPolicy | PatchOwnerPolicy>;
type Put = Call<PutPolicyOverride>;
type Reset = Call<ResetPolicy>;

const what = 'policy';

/** The administrators of policies: those of a tenant, or the owner. */
interface PolicyAudience {
  keyRing: KeyRing;
  most: number;
  /** Null for the owner. */
  tenantIdOf: (call: Call) => string | null;
  show: (policy: PolicyWithOverrides) => object;
  /** The preview of a policy as `show` has made it. */
  preview: (call: Call, policy: object) => Promise<PolicyPreview>;
  read: <Result>(call: Call, work: (db: Queryable) => Promise<Result>) => Promise<Result>;
  /** Finds ids by the names of users and agents in a request. */
  idsOf: (call: Call, names: PolicyNames) => Promise<PolicyIds>;
}

/** `/v1/policies*` and `/internal/v1/owner/policies*` */
export function policyHandlers({
  app,
  system,
  changes,
  keyRing,
  agent,
  preview,
}: Pick<BaseDependencies, 'app' | 'system' | 'changes' | 'keyRing' | 'agent'> & {
  preview: PreviewPolicy;
}): Record<string, Handler> {
  const describe = describeAgents(agent);
  return {
    ...handlersOf('policies', changes, {
      ...{ keyRing, most: maxPolicies.ofTenant },
      tenantIdOf: (call) => tenantOf(call).tenantId,
      show: showPolicy,
      // `showPolicy` has made it.
      preview: (call, policy) => preview(tenantOf(call).tenantId, policy as PolicyBody, call),
      read: (call, work) => withTenant(app, tenantOf(call).tenantId, work),
      idsOf: async (call, { users, agents }) => {
        const { tenantId } = tenantOf(call);
        const keys = [...new Set(agents.map((key) => key.toLowerCase()))];
        const known = await describe(tenantId, { keys }, call);
        const byKey = new Map(known.map(({ id, key }) => [key, id]));
        return {
          users: await withTenant(app, tenantId, (db) => lookUpUserIds(db, tenantId, users)),
          agents: (key) => byKey.get(key.toLowerCase()) ?? key,
        };
      },
    }),
    ...handlersOf('owner.policies', changes, {
      ...{ keyRing, most: maxPolicies.ofOwner },
      tenantIdOf: () => null,
      show: showOwnerPolicy,
      // Runs of many tenants are not added up.
      preview: () => Promise.resolve(null),
      read: (_call, work) => work(system),
      // Users and agents are those of many tenants.
      idsOf: () => Promise.resolve(namesAreIds),
    }),
  };
}

function handlersOf(prefix: string, changes: Changes, holder: PolicyAudience): Record<string, Handler> {
  return {
    ...handlersOfAll(prefix, changes, holder),
    ...handlersOfOne(prefix, changes, holder),
    ...overrideHandlers(prefix, changes, holder),
    ...resetHandlers(prefix, changes, holder),
  };
}

function handlersOfAll(
  prefix: string,
  changes: Changes,
  { keyRing, most, tenantIdOf, show, read, idsOf, preview }: PolicyAudience,
): Record<string, Handler> {
  return {
    [`${prefix}.list`]: (call: List) =>
      pageReply(call, (page) => read(call, (db) => listPolicies(db, tenantIdOf(call), page)), show),

    [`${prefix}.create`]: async (call: Create) => {
      const id = newId();
      const { body: sent } = call;
      const ids = await idsOf(call, namesIn(sent, Object.keys(sent.overrides)));
      const settings = newSettings(withUserIds(sent, ids));
      const named = overridesOf(settings, sent.overrides, ids);
      const reply = await changes.change(call, async (db) => {
        const row = { ...settings, id, tenantId: tenantIdOf(call), counterKey: newCounterKey(keyRing, id) };
        const policy = await insertPolicy(db, row, most);
        await putOverrides(db, policy, named);
        const body = show(await shownPolicy(db, policy));
        return {
          body,
          headers: { location: `${call.route.path}/${id}` },
          changes: [{ action: 'policy.created', id, before: null, after: body }],
        };
      });
      return previewed(call, reply, preview);
    },
  };
}

function handlersOfOne(prefix: string, changes: Changes, holder: PolicyAudience): Record<string, Handler> {
  const { tenantIdOf, show, read, preview } = holder;
  const nameOf = (call: Call): HeldName => nameIn(call, tenantIdOf);
  return {
    [`${prefix}.get`]: async (call: Call) => {
      const policy = await read(call, (db) => findPolicy(db, nameOf(call)));
      return { body: show(orNotFound(policy, what)) };
    },

    [`${prefix}.patch`]: async (call: Patch) => {
      const { overrides } = call.body;
      const ids = await idsIn(holder, call, { ...call.body, values: Object.keys(overrides ?? {}) });
      const reply = await changes.change(call, async (db) => {
        const changed = await changePolicy(db, nameOf(call), (current) => {
          const settings = patchedSettings(current, withUserIds(call.body, ids));
          return { settings, countsAgain: countsAgain(current, settings) };
        });
        const { before, after } = orNotFound(changed, what);
        if (overrides !== undefined) {
          await deleteOverrides(db, after.id);
          await putOverrides(db, after, overridesOf(after, overrides, ids));
        }
        const body = show(await shownPolicy(db, after));
        return {
          body,
          changes: [{ action: 'policy.updated', id: after.id, before: show(before), after: body }],
        };
      });
      return previewed(call, reply, preview);
    },

    [`${prefix}.delete`]: async (call: Call) =>
      changes.change(call, async (db) => {
        const policy = orNotFound(await deletePolicy(db, nameOf(call)), what);
        const { id } = policy;
        return { changes: [{ action: 'policy.deleted', id, before: show(policy), after: null }] };
      }),
  };
}

function overrideHandlers(prefix: string, changes: Changes, holder: PolicyAudience): Record<string, Handler> {
  const { tenantIdOf } = holder;
  return {
    [`${prefix}.overrides.put`]: async (call: Put) => {
      const name = pathParameter(call.params, 'value', overrideValue);
      const ids = await idsIn(holder, call, { values: [name] });
      return changes.change(call, async (db) => {
        const policy = orNotFound(await lockPolicy(db, nameIn(call, tenantIdOf)), what);
        const value = overriddenValue(policy, name, ids);
        checkOverride(policy, { ...call.body, value }, 'value');
        const before = await findOverride(db, policy.id, value);
        await putOverrides(db, policy, { [value]: newOverride(policy, name, call.body) });
        await assertFewOverrides(db, policy.id);
        const body = showOverride(orNotFound(await findOverride(db, policy.id, value), what));
        const view = before === null ? null : showOverride(before);
        return { body, changes: [overrideChange(policy, value, { before: view, after: body })] };
      });
    },

    [`${prefix}.overrides.delete`]: async (call: Call) => {
      const name = pathParameter(call.params, 'value', overrideValue);
      const ids = await idsIn(holder, call, { values: [name] });
      return changes.change(call, async (db) => {
        const policy = orNotFound(await lockPolicy(db, nameIn(call, tenantIdOf)), what);
        const remove = (known: PolicyIds) =>
          deleteOverride(db, policy.id, overriddenValue(policy, name, known));
        // An override may be older than the id of its name.
        const removed = (await remove(ids)) ?? (await remove(namesAreIds));
        const { value } = orNotFound(removed, 'override');
        const before = showOverride(orNotFound(removed, 'override'));
        return { changes: [overrideChange(policy, value, { before, after: null })] };
      });
    },
  };
}

function resetHandlers(prefix: string, changes: Changes, holder: PolicyAudience): Record<string, Handler> {
  const { tenantIdOf, show } = holder;
  return {
    [`${prefix}.reset`]: async (call: Reset) => {
      const { value } = call.body;
      const ids = await idsIn(holder, call, { values: value === undefined ? [] : [value] });
      return changes.change(call, async (db) => {
        const before = orNotFound(await lockPolicy(db, nameIn(call, tenantIdOf)), what);
        if (value !== undefined) await resetValue(db, before, countedValue(before, value, ids));
        else await resetCounters(db, before.id);
        const after = orNotFound(
          await findPolicy(db, { tenantId: before.tenantId, idOrName: before.id }),
          what,
        );
        const view = ({ name, countsSince }: Policy) => ({ name, counts_since: countsSince.toISOString() });
        return {
          body: show(after),
          changes: [
            { action: 'policy.reset', id: after.id, before: view(before), after: { ...view(after), value } },
          ],
        };
      });
    },
  };
}

/** The reply to a change, with the preview of a dry run. */
async function previewed(call: Call, reply: Reply, preview: PolicyAudience['preview']): Promise<Reply> {
  if (!call.dryRun || typeof reply.body !== 'object' || reply.body === null) return reply;
  return { ...reply, body: { ...reply.body, preview: await preview(call, reply.body) } };
}

/** The ids of the names in a request about an existing policy. */
async function idsIn(
  { tenantIdOf, read, idsOf }: PolicyAudience,
  call: Call,
  { select, values }: { select?: SelectedUsers | undefined; values: readonly string[] },
): Promise<PolicyIds> {
  const per = await read(call, (db) => findPer(db, nameIn(call, tenantIdOf)));
  return idsOf(call, namesIn({ per, select }, values));
}

function nameIn(call: Call, tenantIdOf: PolicyAudience['tenantIdOf']): HeldName {
  return { tenantId: tenantIdOf(call), idOrName: call.params['policy'] ?? '' };
}

/** A policy is audited with its changed override alone. */
function overrideChange(
  { id, name }: Policy,
  value: string,
  { before, after }: { before: object | null; after: object | null },
) {
  const view = (override: object | null) => ({ name, overrides: { [value]: override } });
  return { action: 'policy.updated' as const, id, before: view(before), after: view(after) };
}

/** Has the counter of a value, also of a group by its name, begin a new window. */
async function resetValue(db: Queryable, { id, tenantId, per }: Policy, value: string): Promise<void> {
  const counted = per === 'group' && tenantId !== null ? await findGroupId(db, tenantId, value) : value;
  if (counted !== null) await resetCounter(db, id, counted);
}

async function shownPolicy(db: Queryable, policy: Policy): Promise<PolicyWithOverrides> {
  const [known] = await withOverrides(db, [policy]);
  return orNotFound(known ?? null, what);
}
