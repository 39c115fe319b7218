import { AppError } from '@gatehouse/kit/errors';
import { maxStops, stopsPerMinute } from '../bounds.ts';

/** The stops of a tenant in force, and the requests of its users for stops in this minute. */
export interface StopCounts {
  tenantStops: number;
  usersStops: number;
  /** Stops sent by the user of the request. */
  userStops: number;
  requestsOfUsers: number;
  requestsOfUser: number;
  /** Time until the requests of the next minute are counted. */
  minuteLeftMs: number;
  /** Whether the sender has a stop in force for the same runs. */
  isKnown: boolean;
}

/**
 * Throws `limit_reached` for one stop too many, and `rate_limit_exceeded` for a request of a user. Users fill half of the
 * tenant's stops, so an administrator can always stop them. A user can always stop all its own runs.
 */
export function assertMayStop(
  counts: StopCounts,
  { byUser, allOfUser }: { byUser: boolean; allOfUser: boolean },
): void {
  if (byUser) assertRate(counts);
  if (counts.isKnown) return;
  if (byUser && counts.userStops >= maxStops.ofUser && !allOfUser)
    throw new AppError(
      'limit_reached',
      `The user has sent ${maxStops.ofUser} stops in force. Stop all runs of the user with user_id, or wait until some have ended.`,
    );
  if (byUser && counts.usersStops >= maxStops.ofUsers)
    throw new AppError(
      'limit_reached',
      `Users of the tenant have sent ${maxStops.ofUsers} stops in force. Ask an administrator, or wait until some have ended.`,
    );
  if (counts.tenantStops >= maxStops.ofTenant)
    throw new AppError(
      'limit_reached',
      `The tenant has ${maxStops.ofTenant} stops in force. Wait until some have ended; a stop of a user, an agent or a key ends many sessions.`,
    );
}

function assertRate({ requestsOfUser, requestsOfUsers, minuteLeftMs }: StopCounts): void {
  const isUser = requestsOfUser >= stopsPerMinute.ofUser;
  if (!isUser && requestsOfUsers < stopsPerMinute.ofUsers) return;
  const text = isUser
    ? `A user stops runs ${stopsPerMinute.ofUser} times a minute at most.`
    : `The users of a tenant stop runs ${stopsPerMinute.ofUsers} times a minute at most.`;
  throw new AppError('rate_limit_exceeded', text, { retryAfterMs: minuteLeftMs });
}
