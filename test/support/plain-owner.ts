import { chmod, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '@gatehouse/local/ports';
import { startPostgres, type Postgres } from '@gatehouse/local/postgres';
import type { PostgresBinaries } from '@gatehouse/local/postgres-binaries';
import { dataFolder } from './data-folder.ts';
import { query } from './query.ts';

const owner = 'plain_owner';
const password = 'password';

/**
 * A separate PostgreSQL whose databases belong to a role that may create schemas and roles but has no other rights: no
 * superuser, no BYPASSRLS, and no rights inherited from the roles it creates. Separate, because roles belong to a whole
 * server, and a shared server would already have them.
 */
export class PlainOwnerServer {
  readonly #postgres: Postgres;
  readonly #folder: string;

  private constructor(postgres: Postgres, folder: string) {
    this.#postgres = postgres;
    this.#folder = folder;
  }

  /** `binaries`: other ones than those from npm. */
  static async start(binaries?: PostgresBinaries): Promise<PlainOwnerServer> {
    const folder = await mkdtemp(path.join(dataFolder(), 'gatehouse-plain-owner-'));
    // When run as root, PostgreSQL runs as another OS user.
    await chmod(folder, 0o711);
    const postgres = await startPostgres({
      ...(binaries && { binaries }),
      dataDirectory: path.join(folder, 'data'),
      port: await freePort(),
      settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
    });
    await query(
      postgres.adminUrl('postgres'),
      `create role ${owner} login nosuperuser nobypassrls noinherit createrole password '${password}'`,
    );
    return new PlainOwnerServer(postgres, folder);
  }

  async createDatabase(name: string): Promise<void> {
    await query(this.superuserUrl('postgres'), `create database ${name} owner ${owner}`);
  }

  superuserUrl(database: string): string {
    return this.#postgres.adminUrl(database);
  }

  ownerUrl(database: string): string {
    return this.#urlOf(database, owner);
  }

  /** `DATABASE_URL` of a service. */
  serviceUrl(database: string, service: string): string {
    return this.#urlOf(database, `${service}_login`);
  }

  async stop(): Promise<void> {
    await this.#postgres.stop();
    await rm(this.#folder, { recursive: true });
  }

  #urlOf(database: string, user: string): string {
    const url = new URL(this.superuserUrl(database));
    url.username = user;
    url.password = password;
    return url.href;
  }
}
