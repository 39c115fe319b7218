import { readdirSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TestGateway } from '@gatehouse/test/gateway';
import type { PlainOwnerServer } from '@gatehouse/test/plain-owner';
import { query } from '@gatehouse/test/query';
import { migrateService } from '@gatehouse/shell/migrate';

/** Versions that are kept in `releases/`, and databases of them. */

export const root = path.join(import.meta.dirname, '../..');
export const servicesWithSchema = ['tenant', 'agent', 'memory', 'chat', 'webhook', 'analytics'] as const;
type Service = (typeof servicesWithSchema)[number];

/** A `GET` of the API and what it answered. */
export interface KeptAnswer {
  path: string;
  key: 'owner' | 'admin';
  body: unknown;
}

/** The file `answers.json`. */
export interface KeptAnswers {
  /** The key ring that has encrypted what is in the rows. */
  keyRing: string;
  ownerKey: string;
  adminKey: string;
  answers: KeptAnswer[];
}

/** The newest kept version. */
export function lastVersion(): string {
  const [last] = readdirSync(path.join(root, 'releases'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  if (last === undefined) throw new Error('no version is kept in releases/');
  return last;
}

export function folderOf(version: string): string {
  return path.join(root, 'releases', version);
}

export function migrationsOf(service: Service): string {
  return path.join(root, 'services', service, 'migrations');
}

/** Applies the migrations in `folder(service)` to the schemas of all services in a database. */
export async function migrateAll(
  server: PlainOwnerServer,
  database: string,
  folder: (service: Service) => string = migrationsOf,
): Promise<void> {
  for (const service of servicesWithSchema)
    await migrateService({
      service,
      adminUrl: server.ownerUrl(database),
      serviceUrl: server.serviceUrl(database, service),
      directory: folder(service),
    });
}

/** Makes the database of a kept version: its migrations, and its rows. */
export async function restore(server: PlainOwnerServer, database: string, version: string): Promise<void> {
  await server.createDatabase(database);
  const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-kept-'));
  try {
    const checksums = await readFile(path.join(folderOf(version), 'checksums.txt'), 'utf8');
    for (const line of checksums.trimEnd().split('\n')) {
      const [, file = ''] = line.split('  ');
      await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
      await cp(path.join(root, file), path.join(folder, file));
    }
    await migrateAll(server, database, (service) => path.join(folder, 'services', service, 'migrations'));
  } finally {
    await rm(folder, { recursive: true });
  }
  const url = server.superuserUrl(database);
  for (const service of servicesWithSchema)
    await query(url, `update ${service}.migrations set version = '${version}'`);
  await query(url, await readFile(path.join(folderOf(version), 'dump.sql'), 'utf8'));
}

/** A gateway on such a database. */
export function startGateway(
  server: PlainOwnerServer,
  database: string,
  { keyRing, ownerKey }: { keyRing: string; ownerKey: string | null },
): Promise<TestGateway> {
  return TestGateway.start({
    existing: {
      database: (service) => ({
        url: server.serviceUrl(database, service),
        adminUrl: server.superuserUrl(database),
        drop: () => Promise.resolve(),
      }),
      ownerKey,
    },
    environment: { SECRETS_KEYRING: keyRing, EGRESS_ALLOW: '127.0.0.1', PUBLIC_URL: 'http://127.0.0.1' },
  });
}

/**
 * Takes the rows out of the tables that jobs work through: rows of a seed are no entries that a service could publish or
 * settle.
 */
export async function emptyQueues(url: (service: string) => string): Promise<void> {
  for (const [service, tables] of Object.entries(queues)) await query(url(service), `truncate ${tables}`);
}

const queues: Readonly<Record<string, string>> = {
  tenant: 'tenant.audit_outbox',
  agent: 'agent.audit_outbox',
  memory: 'memory.audit_outbox',
  webhook: 'webhook.audit_outbox',
  chat: 'chat.outbox, chat.run_log, chat.open_runs, chat.run_costs, chat.settlements',
};
