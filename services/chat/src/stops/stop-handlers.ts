import type { Changes } from '@gatehouse/audited-changes/changes';
import type { StopRuns } from '@gatehouse/contract/run-stops';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import type { TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { afterCommit } from '@gatehouse/pg/pool';
import type { RunStops } from './run-stops.ts';
import { digestOfUser, selectNamed, selectSessionOf, type RunSubject, type Selected } from './selection.ts';
import { assertMayStop } from './stop-counts.ts';
import { countStops, insertStop } from './stop-store.ts';

export interface StopDependencies {
  changes: Pick<Changes, 'change'>;
  stops: Pick<RunStops, 'apply'>;
  /** A run of the tenant under way in any replica; null without one. */
  findOpenRun: (tenantId: string, runId: string) => Promise<RunSubject | null>;
  /** The id of a user by any of its names; the name itself outside the directory. */
  userIdOf: (tenantId: string, name: string, caller: Pick<Call, 'requestId' | 'trace'>) => Promise<string>;
}

const selectors = ['run_id', 'session_id', 'user_id', 'agent_id', 'api_key_id'] as const;

/** `POST /v1/runs/stop` */
export function stopHandlers(dependencies: StopDependencies): Record<string, Handler> {
  const { changes, stops } = dependencies;
  return {
    'runs.stop': async (call: Call<StopRuns>) => {
      const { body } = call;
      const { tenantId } = tenantOf(call);
      const user = onlyUserOf(tenantOf(call));
      const selected = await selectedBy(dependencies, call, user);
      const { reason = null, hold_seconds: holdSeconds, run_id: runId = null } = body;
      const id = newId();
      const senderDigest = user === null ? null : digestOfUser(tenantId, user);
      const stop = { tenantId, runId, selected, senderDigest };
      return changes.change(call, async (db) => {
        const allOfUser = selected?.selection === 'user';
        assertMayStop(await countStops(db, stop), { byUser: user !== null, allOfUser });
        const holdUntil = await insertStop(db, { ...stop, id, holdSeconds });
        const times = { ageMs: 0, leftMs: holdSeconds * 1_000, holdUntil };
        // Other replicas are notified. Later requests to this one find the stop.
        afterCommit(db, () => stops.apply([{ id, tenantId, runId, selected, ...times }]));
        const hold_until = holdUntil.toISOString();
        const after = { ...named(body), reason, hold_until };
        return { body: { hold_until }, changes: [{ action: 'run.stopped', id, before: null, after }] };
      });
    },
  };
}

/**
 * Null for a run without a session. `user`: the caller may stop runs of this user alone; null for all. Throws for more
 * than one selector, and for other runs.
 */
async function selectedBy(
  { findOpenRun, userIdOf }: Pick<StopDependencies, 'findOpenRun' | 'userIdOf'>,
  call: Call<StopRuns>,
  user: string | null,
): Promise<Selected | null> {
  const { body, requestId, trace } = call;
  if (Object.keys(named(body)).length !== 1)
    throw new AppError('missing_required_parameter', `Set one of ${selectors.join(', ')}.`);
  const { tenantId } = tenantOf(call);
  const namedUser =
    body.user_id === undefined ? undefined : await userIdOf(tenantId, body.user_id, { requestId, trace });
  if (user !== null && namedUser !== undefined && namedUser !== user)
    throw new AppError(
      'user_mismatch',
      'user_id names another user than the one that the request acts for.',
      { param: 'user_id' },
    );
  if (body.run_id === undefined) return selectNamed(tenantId, { ...body, user_id: namedUser }, user);
  const run = await findOpenRun(tenantId, body.run_id);
  if (run === null || (user !== null && run.userId !== user))
    throw new AppError('not_found', 'There is no such run under way.', { param: 'run_id' });
  return selectSessionOf(run);
}

/** The caller may stop runs of this user alone; null for all users. Throws `acting_user_required`. */
function onlyUserOf({ role, userId }: TenantPrincipal): string | null {
  if (userId !== null || role === 'admin') return userId;
  throw new AppError('acting_user_required', 'A key with the role user stops runs of its own user only.', {
    param: 'X-Service-User-Id',
  });
}

function named(body: StopRuns): Partial<StopRuns> {
  return Object.fromEntries(
    selectors.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])),
  );
}
