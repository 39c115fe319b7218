import type { Queryable } from '@gatehouse/pg/pool';

/** Beyond this number only the age matters. */
export const mostCounted = 100_000;

/** Sessions of this name at the database. Needs no privileges. */
export async function countSessions(db: Queryable, name: string): Promise<number> {
  const { sessions } = await db.one<{ sessions: number }>(
    `select count(*)::integer as sessions from pg_stat_activity
       where datname = current_database() and application_name = $1`,
    [name],
  );
  return sessions;
}

/** Unreadable and refused events of the service; counts up to 100,000. `db` acts as `<service>_system`. */
export async function countDeadLetters(db: Queryable, service: string): Promise<number> {
  const { letters } = await db.one<{ letters: number }>(
    `select count(*)::integer as letters from (select from ${service}.dead_letters limit $1) as counted`,
    [mostCounted],
  );
  return letters;
}
