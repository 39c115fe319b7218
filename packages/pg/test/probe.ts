import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger } from '@gatehouse/kit/log';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { query } from '@gatehouse/test/query';
import { Client } from 'pg';
import { migrate } from '../src/migrate.ts';
import { createPool, type Pool } from '../src/pool.ts';

export const service = 'probe';
export const firstMigration = `
  create function probe.current_tenant() returns uuid language plpgsql stable as $$
  begin
    if nullif(current_setting('gatehouse.tenant_id', true), '') is null then raise exception 'no tenant is set'; end if;
    return current_setting('gatehouse.tenant_id')::uuid;
  end $$;
  create table probe.notes (id uuid primary key, tenant_id uuid not null, text text not null);
  alter table probe.notes enable row level security;
  alter table probe.notes force row level security;
  create policy own on probe.notes to probe_app
    using (tenant_id = probe.current_tenant()) with check (tenant_id = probe.current_tenant());
  grant usage on schema probe to probe_app, probe_system;
  grant select on probe.migrations to probe_app, probe_system;
  grant select, insert on probe.notes to probe_app;`;

export async function folderOf(migrations: Record<string, string>): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'gatehouse-migrations-'));
  for (const [name, sql] of Object.entries(migrations)) await writeFile(path.join(made, name), sql);
  return made;
}

/** A service of our own in the database of another, so that its migrations can be what a test wants. */
export class Probe {
  /** The service's own URL. */
  readonly url: string;
  readonly folder: string;
  /** As the service for its tenants. */
  readonly pool: Pool;
  readonly #database: TestDatabase;

  private constructor(database: TestDatabase, folder: string) {
    this.#database = database;
    this.folder = folder;
    const own = new URL(database.url);
    own.search = '';
    own.username = 'probe_login';
    own.password = encodeURIComponent("p'ss w:rd");
    this.url = own.href;
    this.pool = createPool({ url: this.url, role: 'probe_app', max: 1, log: createLogger('test', 'silent') });
  }

  static async start(): Promise<Probe> {
    const folder = await folderOf({ '0001_notes.sql': firstMigration, 'README.md': 'no migration' });
    const probe = new Probe(await createTestDatabase('tenant'), folder);
    // Several at once, as replicas' migration steps may be.
    await Promise.all([probe.migrate(), probe.migrate(), probe.migrate()]);
    return probe;
  }

  get adminUrl(): string {
    return this.#database.adminUrl;
  }

  migrate(directory = this.folder): Promise<void> {
    return migrate({ service, adminUrl: this.adminUrl, serviceUrl: this.url, directory });
  }

  /** As superuser. */
  async connect(): Promise<Client> {
    const client = new Client({ connectionString: this.adminUrl });
    await client.connect();
    return client;
  }

  asAdmin<Row extends object>(sql: string): Promise<Row[]> {
    return query<Row>(this.adminUrl, sql);
  }

  async stop(): Promise<void> {
    await this.pool.end();
    await this.#database.drop();
    await rm(this.folder, { recursive: true });
  }
}
