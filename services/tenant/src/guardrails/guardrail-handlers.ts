import type {
  CreateGuardrail,
  CreateOwnerGuardrail,
  GuardrailDefinition,
  listGuardrails as listQuery,
  PatchGuardrail,
  PatchOwnerGuardrail,
} from '@gatehouse/contract/guardrails';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { pageReply } from '@gatehouse/http/pagination';
import { orNotFound } from '@gatehouse/http/resource';
import { newId } from '@gatehouse/kit/ids';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { sealGuardrailSecrets } from '@gatehouse/secrets/guardrail-secrets';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { z } from 'zod';
import { withUserIds, type SelectedUsers } from '../policies/policy.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import type { HeldName } from '../shared/holder.ts';
import { lookUpUserIds } from '../shared/user-names-store.ts';
import { changedGuardrail, newGuardrail, type Guardrail, type WrittenGuardrail } from './guardrail.ts';
import {
  changeGuardrail,
  deleteGuardrail,
  findGuardrail,
  insertGuardrail,
  listGuardrails,
  type GuardrailRow,
} from './guardrail-store.ts';
import { showGuardrail, showOwnerGuardrail } from './guardrail-views.ts';
import type { AssertCompiled } from './compiled-check.ts';
import type { AssertReachable } from './outside-checks-client.ts';

type List = Call<unknown, z.output<typeof listQuery>>;
type Create = Call<CreateGuardrail | CreateOwnerGuardrail>;
type Patch = Call<PatchGuardrail | PatchOwnerGuardrail>;

const what = 'guardrail';

export interface GuardrailDependencies extends Pick<
  BaseDependencies,
  'app' | 'system' | 'changes' | 'keyRing'
> {
  assertReachable: AssertReachable;
  assertCompiled: AssertCompiled;
}

/** The administrators of guardrails: those of a tenant, or the owner. */
interface GuardrailAdmins {
  prefix: string;
  /** Null for the owner. */
  tenantIdOf: (call: Call) => string | null;
  show: (guardrail: Guardrail) => object;
  read: <Result>(call: Call, work: (db: Queryable) => Promise<Result>) => Promise<Result>;
}

/** `/v1/guardrails*` and `/internal/v1/owner/guardrails*` */
export function guardrailHandlers(dependencies: GuardrailDependencies): Record<string, Handler> {
  const { app, system } = dependencies;
  return {
    ...handlersOf(dependencies, {
      prefix: 'guardrails',
      tenantIdOf: (call) => tenantOf(call).tenantId,
      show: showGuardrail,
      read: (call, work) => withTenant(app, tenantOf(call).tenantId, work),
    }),
    ...handlersOf(dependencies, {
      prefix: 'owner.guardrails',
      tenantIdOf: () => null,
      show: showOwnerGuardrail,
      read: (_call, work) => work(system),
    }),
  };
}

function handlersOf(dependencies: GuardrailDependencies, admins: GuardrailAdmins): Record<string, Handler> {
  const { keyRing, changes } = dependencies;
  const { prefix, tenantIdOf, show, read } = admins;
  return {
    [`${prefix}.list`]: (call: List) =>
      pageReply(call, (page) => read(call, (db) => listGuardrails(db, tenantIdOf(call), page)), show),

    [`${prefix}.create`]: async (call: Create) => {
      const [id, tenantId] = [newId(), tenantIdOf(call)];
      const written = newGuardrail(await withKnownUsers(admins, call, call.body));
      await verify(dependencies, call, { tenantId, definition: written.settings.definition, before: null });
      return changes.change(call, async (db) => {
        const body = show(await insertGuardrail(db, { ...rowOf(keyRing, id, written), id, tenantId }));
        return {
          body,
          headers: { location: `${call.route.path}/${id}` },
          changes: [{ action: 'guardrail.created', id, before: null, after: body }],
        };
      });
    },

    [`${prefix}.get`]: async (call: Call) => {
      const guardrail = await read(call, (db) => findGuardrail(db, nameIn(call, tenantIdOf)));
      return { body: show(orNotFound(guardrail, what)) };
    },

    [`${prefix}.patch`]: (call: Patch) => patch(dependencies, admins, call),

    [`${prefix}.delete`]: async (call: Call) =>
      changes.change(call, async (db) => {
        const guardrail = orNotFound(await deleteGuardrail(db, nameIn(call, tenantIdOf)), what);
        const { id } = guardrail;
        return { changes: [{ action: 'guardrail.deleted', id, before: show(guardrail), after: null }] };
      }),
  };
}

async function patch(dependencies: GuardrailDependencies, admins: GuardrailAdmins, call: Patch) {
  const { keyRing, changes } = dependencies;
  const { tenantIdOf, show, read } = admins;
  const [tenantId, name] = [tenantIdOf(call), nameIn(call, tenantIdOf)];
  const body = await withKnownUsers(admins, call, call.body);
  const visible = await read(call, (db) => findGuardrail(db, name));
  const known = orNotFound(visible?.tenantId === tenantId ? visible : null, what);
  // Before the transaction. Chat compiles again and finds what a change meanwhile may have brought together.
  await verify(dependencies, call, {
    ...{ tenantId, before: known.definition },
    definition: changedGuardrail(known, body).settings.definition,
  });
  return changes.change(call, async (db) => {
    const changed = await changeGuardrail(db, name, (current) =>
      rowOf(keyRing, current.id, changedGuardrail(current, body)),
    );
    const { before, after } = orNotFound(changed, what);
    return {
      body: show(after),
      changes: [{ action: 'guardrail.updated', id: after.id, before: show(before), after: show(after) }],
    };
  });
}

interface Verified {
  tenantId: string | null;
  definition: GuardrailDefinition;
  /** The definition before a change. */
  before: GuardrailDefinition | null;
}

/** Checks what is new in a definition with others: the catalogue, the guard of outgoing calls, and the compiler. */
async function verify(
  { assertReachable, assertCompiled }: GuardrailDependencies,
  call: Call,
  { tenantId, definition, before }: Verified,
): Promise<void> {
  const isNew = (part: (each: GuardrailDefinition) => unknown): boolean =>
    before === null || JSON.stringify(part(before)) !== JSON.stringify(part(definition));
  if (isNew(({ check }) => check)) await assertReachable(definition.check, tenantId, call);
  if (isNew(({ check, hold }) => [check, hold])) await assertCompiled(tenantId, definition);
}

/** The request with the ids of its users in place of their names. Users of the owner's are those of many tenants. */
async function withKnownUsers<Body extends { select?: SelectedUsers | undefined }>(
  { tenantIdOf, read }: GuardrailAdmins,
  call: Call,
  body: Body,
): Promise<Body> {
  const tenantId = tenantIdOf(call);
  const named = body.select?.users ?? [];
  if (tenantId === null || named.length === 0) return body;
  const users = await read(call, (db) => lookUpUserIds(db, tenantId, named));
  return withUserIds(body, { users, agents: (key) => key });
}

function rowOf(keyRing: KeyRing, id: string, { settings, secrets }: WrittenGuardrail): GuardrailRow {
  const sealed =
    secrets === null || secrets === 'unchanged' ? secrets : sealGuardrailSecrets(keyRing, { id }, secrets);
  return { ...settings, secrets: sealed };
}

function nameIn(call: Call, tenantIdOf: GuardrailAdmins['tenantIdOf']): HeldName {
  return { tenantId: tenantIdOf(call), idOrName: call.params['guardrail'] ?? '' };
}
