import { setImmediate } from 'node:timers/promises';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { RunStopped } from '../providers/provider-failure.ts';
import type { FindUser } from '../shared/acting-user.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';
import type { OpenTurn, RunStops } from './run-stops.ts';
import { blockedUsersMs, usersAtOnce } from '../bounds.ts';

export interface BlockedUsersOptions {
  stops: Pick<RunStops, 'turnsByUser'>;
  settings: { getForTenant: (tenantId: string) => Promise<Pick<TenantSettings, 'hasUsers'>> };
  findUser: FindUser;
  log: Logger;
}

/**
 * Ends the turns of users who were blocked since these began, by looking up the users of all turns again. The directory
 * answers from memory until the tenant service reports a change of the user.
 */
export function blockedUsersJob({ stops, log, ...directory }: BlockedUsersOptions): PeriodicWork {
  return new PeriodicWork({
    ...{ task: 'end runs of blocked users', log, everyMs: blockedUsersMs },
    round: async () => {
      const users = stops.turnsByUser();
      for (let at = 0; at < users.length; at += usersAtOnce) {
        await Promise.all(users.slice(at, at + usersAtOnce).map((turns) => endIfBlocked(directory, turns)));
        await setImmediate();
      }
      return false;
    },
  });
}

/** `turns`: some of one user. */
async function endIfBlocked(
  directory: Pick<BlockedUsersOptions, 'settings' | 'findUser'>,
  turns: readonly OpenTurn[],
): Promise<void> {
  const [turn] = turns;
  if (turn === undefined || !(await isBlocked(directory, turn))) return;
  for (const { ending } of turns) ending.abort(new RunStopped());
}

/** False also while the tenant service can't answer: the next round asks again. */
async function isBlocked(
  { settings, findUser }: Pick<BlockedUsersOptions, 'settings' | 'findUser'>,
  { tenantId, userId }: OpenTurn,
): Promise<boolean> {
  try {
    if (userId === null || !(await settings.getForTenant(tenantId)).hasUsers) return false;
    await findUser(tenantId, userId);
    return false;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.code === 'user_blocked';
  }
}
