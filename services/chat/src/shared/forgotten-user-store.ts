import { userDigest } from '@gatehouse/kit/user-digest';

/** Parameters of conditions below: users are known by digest, and runs without one are of no user. */
export function digestOf(tenantId: string, userId: string | null): Buffer | null {
  return userId === null ? null : userDigest(tenantId, userId);
}

/** Whether a user was forgotten since a time; all are SQL expressions. */
export function forgottenAfter(tenantId: string, digest: string, time: string): string {
  return `exists (
    select from chat.forgotten_users f
    where f.tenant_id = ${tenantId} and f.user_digest = ${digest} and ${time} <= least(f.requested_at, f.created_at))`;
}

/**
 * The time at which a run of this age began. Rows of a run have this time: one written after the deletion of its user,
 * by a run begun before it, is deleted too.
 */
export function beganAt(ageMs: string): string {
  return `now() - ${ageMs}::float8 * interval '1 millisecond'`;
}

/** Whether a user was forgotten in the last so many milliseconds; the arguments are parameters. */
export function forgottenSince(tenantId: string, digest: string, ageMs: string): string {
  return forgottenAfter(tenantId, `${digest}::bytea`, beganAt(ageMs));
}
