import type { PoolClient, Queryable } from './pool.ts';

/** Calls `heard` whenever a session notifies this channel, until the session of `client` ends. */
export async function listen(client: PoolClient, channel: string, heard: () => void): Promise<void> {
  client.on('notification', heard);
  await client.query(`listen ${client.escapeIdentifier(channel)}`);
}

/** Notifies all sessions listening to this channel, once the transaction of `db` is committed. */
export async function notify(db: Queryable, channel: string): Promise<void> {
  await db.query({ name: 'notify', text: `select pg_notify($1, '')`, values: [channel] });
}
