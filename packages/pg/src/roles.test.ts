import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '@gatehouse/local/ports';
import { startPostgres, type Postgres } from '@gatehouse/local/postgres';
import { query } from '@gatehouse/test/query';
import { folderOf } from '../test/probe.ts';
import { migrate } from './migrate.ts';

/**
 * A separate server, which logs every statement. Each test uses its own service name, because roles belong to the whole
 * server.
 */
let server: Postgres;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-roles-'));
  // As root, PostgreSQL runs as a separate OS user, which must be able to enter the folder.
  await chmod(folder, 0o711);
  server = await startPostgres({
    dataDirectory: path.join(folder, 'data'),
    port: await freePort(),
    settings: { log_statement: 'all', fsync: 'off' },
  });
  await query(server.adminUrl('postgres'), `create role owner login createrole password 'owner'`);
  for (const database of ['here', 'there'])
    await query(server.adminUrl('postgres'), `create database ${database} owner owner`);
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

function urlOf(database: string, user: string, password: string): string {
  const url = new URL(server.adminUrl(database));
  url.username = user;
  url.password = encodeURIComponent(password);
  return url.href;
}

interface Installation {
  database: string;
  password: string;
  user?: string;
  /** URL of the owner, by default not a superuser. */
  owner?: string;
}

/** The migration step of a service. */
async function step(service: string, installation: Installation): Promise<void> {
  const { database, password, user = `${service}_login` } = installation;
  const directory = await folderOf({
    '0001_grants.sql': `grant usage on schema ${service} to ${service}_app, ${service}_system;`,
  });
  try {
    const adminUrl = installation.owner ?? urlOf(database, 'owner', 'owner');
    await migrate({ service, adminUrl, serviceUrl: urlOf(database, user, password), directory });
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function letsIn(user: string, password: string): Promise<boolean> {
  return query(urlOf('here', user, password), `set role ${user.replace('login', 'app')}`).then(
    () => true,
    (error: unknown) => {
      expect(error).toMatchObject({ code: '28P01' });
      return false;
    },
  );
}

describe('the password of a login', () => {
  it('is that of its URL, also when that has changed, and PostgreSQL never hears it', async () => {
    const [first, second] = ["pä'ss w:rd/1 ﬁ", 'another-password'];
    for (let times = 0; times < 2; times += 1) await step('porter', { database: 'here', password: first });
    expect(await letsIn('porter_login', first)).toBe(true);
    await step('porter', { database: 'here', password: second });
    expect([await letsIn('porter_login', first), await letsIn('porter_login', second)]).toEqual([
      false,
      true,
    ]);
    const log = await readFile(path.join(folder, 'data.log'), 'utf8');
    expect(log.match(/create role "porter_login"/g)).toHaveLength(1);
    expect(log.match(/alter role "porter_login"/g)).toHaveLength(1);
    for (const text of ['w:rd', second, 'already exists']) expect(log).not.toContain(text);
  });

  it('is left as it is where another database has the roles, and a user of its own is taken instead', async () => {
    await step('usher', { database: 'here', password: 'ours' });
    await step('usher', { database: 'there', password: 'ours' });
    await expect(step('usher', { database: 'there', password: 'theirs' })).rejects.toThrow(
      /for usher_login, .*: here may be using it too\. .*alter role usher_login password/,
    );
    expect(await letsIn('usher_login', 'ours')).toBe(true);
    await step('usher', { database: 'there', password: 'theirs', user: 'usher_there' });
  });

  it('is left as it is where the owner may not change it, and that is said', async () => {
    await query(
      server.adminUrl('postgres'),
      `create role warden_login login noinherit password 'of another'`,
    );
    await expect(step('warden', { database: 'here', password: 'ours' })).rejects.toThrow(
      /for warden_login, .*: permission denied to alter role\. /,
    );
  });

  it.each([
    ['superuser noinherit', undefined],
    ['inherit', undefined],
    ['noinherit', 'of_another_service'],
  ])('is left as it is if its user is no login of ours: %s, member of %s', async (attributes, group) => {
    const user = `guest_${attributes.replace(' ', '_')}`;
    await query(server.adminUrl('postgres'), `create role ${user} login ${attributes} password 'of another'`);
    if (group !== undefined)
      await query(server.adminUrl('postgres'), `create role ${group}; grant ${group} to ${user}`);
    const superuser = server.adminUrl('here');
    await expect(
      step('guest', { database: 'here', password: 'ours', user, owner: superuser }),
    ).rejects.toThrow(new RegExp(`for ${user}, .*: it has other rights than the service needs`));
    await query(urlOf('here', user, 'of another'), 'select 1');
  });

  it('is not blamed when a user may not log in', async () => {
    await step('clerk', { database: 'here', password: 'ours' });
    await query(server.adminUrl('postgres'), 'alter role clerk_login nologin');
    await expect(step('clerk', { database: 'here', password: 'theirs' })).rejects.toMatchObject({
      message: "clerk_login can't log in with DATABASE_URL",
      cause: { message: expect.stringContaining('is not permitted to log in') },
    });
  });
});
