import type { Pool } from './pool.ts';

/** Users found by one statement, each by one look into the index. */
const usersAtOnce = 1_000;

/** The users of a tenant with rows in a table, which has an index by tenant and user, in pages. */
export async function* usersIn(pool: Pool, table: string, tenantId: string): AsyncGenerator<string[], void> {
  const nextAfter = (user: string): string =>
    `(select user_id from ${table} where tenant_id = $1 and user_id > ${user} order by user_id limit 1)`;
  for (let after = ''; ;) {
    const rows = await pool.all<{ user_id: string }>(
      `with recursive users as (
         ${nextAfter('$2')}
         union all
         select next.user_id from users cross join lateral ${nextAfter('users.user_id')} as next
       )
       select user_id from users limit $3`,
      [tenantId, after, usersAtOnce],
    );
    yield rows.map(({ user_id: userId }) => userId);
    const last = rows.at(-1);
    if (last === undefined || rows.length < usersAtOnce) return;
    after = last.user_id;
  }
}
