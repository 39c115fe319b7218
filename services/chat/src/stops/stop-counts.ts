import { AppError } from '@gatehouse/kit/errors';
import { maxStops, stopsPerMinute } from '../bounds.ts';

/**
 * The stops of a tenant in force, and the requests of its users for stops in this minute. Stops of users for all their
 * own runs count apart from the others.
 */
export interface StopCounts {
  tenantStops: number;
  usersStops: number;
  /** Stops sent by the user of the request. */
  userStops: number;
  /** Stops of users for all their own runs, one of each. */
  allOfUserStops: number;
  requestsOfUsers: number;
  requestsOfUser: number;
  /** Time until the requests of the next minute are counted. */
  minuteLeftMs: number;
  /** Whether the sender has a stop in force for the same runs. */
  isKnown: boolean;
  /** Whether it was sent in this minute. */
  isRepeated: boolean;
}

interface StopSender {
  byUser: boolean;
  /** Whether it is of all runs of the user. */
  allOfUser: boolean;
}

/**
 * Throws `limit_reached` for one stop too many, and `rate_limit_exceeded` for a request of a user. Users fill half of the
 * tenant's stops, so an administrator can always stop them. Requests of others aside, a user can stop all its own runs
 * once a minute: these stops have places of their own.
 */
export function assertMayStop(counts: StopCounts, { byUser, allOfUser }: StopSender): void {
  const isOwn = byUser && allOfUser;
  if (byUser) assertRate(counts, isOwn && !counts.isRepeated);
  if (counts.isKnown) return;
  if (isOwn) {
    if (counts.allOfUserStops < maxStops.allOfUser) return;
    throw new AppError(
      'limit_reached',
      `${maxStops.allOfUser} users of the tenant have stopped all their runs. Ask an administrator, or wait until some stops have ended.`,
    );
  }
  if (byUser && counts.userStops >= maxStops.ofUser)
    throw new AppError(
      'limit_reached',
      `The user has sent ${maxStops.ofUser} stops in force. Stop all runs of the user with user_id, or wait until some have ended.`,
    );
  if (byUser && counts.usersStops >= maxStops.ofUsers)
    throw new AppError(
      'limit_reached',
      `Users of the tenant have sent ${maxStops.ofUsers} stops in force. Stop all runs of the user with user_id, ask an administrator, or wait until some have ended.`,
    );
  if (counts.tenantStops >= maxStops.ofTenant)
    throw new AppError(
      'limit_reached',
      `The tenant has ${maxStops.ofTenant} stops in force. Wait until some have ended; a stop of a user, an agent or a key ends many sessions.`,
    );
}

/** `ownAlone`: requests of other users don't count. */
function assertRate({ requestsOfUser, requestsOfUsers, minuteLeftMs }: StopCounts, ownAlone: boolean): void {
  const isUser = requestsOfUser >= stopsPerMinute.ofUser;
  if (!isUser && (ownAlone || requestsOfUsers < stopsPerMinute.ofUsers)) return;
  const text = isUser
    ? `A user stops runs ${stopsPerMinute.ofUser} times a minute at most.`
    : `The users of a tenant stop runs ${stopsPerMinute.ofUsers} times a minute at most.`;
  throw new AppError('rate_limit_exceeded', text, { retryAfterMs: minuteLeftMs });
}
