import type { Queryable } from '@gatehouse/pg/pool';
import type { SecretPlace } from './webhook-secrets.ts';

type Table = SecretPlace['table'];

/** The encrypted secret in a place, of the tenant of the transaction. */
export async function readSecret(
  db: Queryable,
  { table, column, id }: Omit<SecretPlace, 'tenantId'>,
): Promise<Buffer> {
  const { sealed } = await db.one<{ sealed: Buffer }>(
    `select ${column} as sealed from webhook.${table} where id = $1`,
    [id],
  );
  return sealed;
}

interface Columns {
  secret: string;
  previous: string;
  expires: string;
}

/**
 * Assignments for replacing a secret by the parameter `sealed`, and keeping the old one for `seconds`; without a new
 * one they shorten the time of the old one. Both may be null.
 */
export function rotating(
  { secret, previous, expires }: Columns,
  { sealed, seconds }: { sealed: `$${number}`; seconds: `$${number}` },
): string {
  const until = `statement_timestamp() + make_interval(secs => ${seconds})`;
  return `${secret} = coalesce(${sealed}::bytea, ${secret}),
    ${previous} = case when ${seconds}::float8 = 0 then null
      when ${sealed}::bytea is null then ${previous} else ${secret} end,
    ${expires} = case when ${seconds}::float8 = 0 then null
      when ${sealed}::bytea is not null then ${until}
      when ${previous} is not null then least(${expires}, ${until}) end`;
}

/** The replaced secrets of each table, and until when they are used. */
const replaced = {
  endpoints: [
    ['previous_secret', 'previous_secret_expires_at'],
    ['previous_callback_secret', 'previous_callback_secret_expires_at'],
  ],
  subscriptions: [['previous_secret', 'previous_secret_expires_at']],
  channel_instances: [['previous_credentials', 'previous_credentials_expire_at']],
} as const satisfies Record<Table, readonly (readonly [secret: string, expires: string])[]>;

export const replacedTables = ['endpoints', 'subscriptions', 'channel_instances'] as const satisfies Table[];

/** A condition: some of a row's replaced secrets are no longer used. */
export function hasExpired(table: Table): string {
  return replaced[table].map(([, expires]) => `${expires} <= now()`).join(' or ');
}

/** Deletes a row's replaced secrets after their time. */
export async function forgetExpired(db: Queryable, table: Table, id: string): Promise<void> {
  const columns = replaced[table].flatMap(([secret, expires]) =>
    [secret, expires].map((column) => `${column} = case when ${expires} > now() then ${column} end`),
  );
  const accepted = table === 'channel_instances' ? ['previous_credentials_accepted_until = null'] : [];
  await db.query(
    `update webhook.${table} set ${[...columns, ...accepted].join(', ')} where id = $1 and (${hasExpired(table)})`,
    [id],
  );
}
