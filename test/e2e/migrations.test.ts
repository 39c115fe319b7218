import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrateService } from '@gatehouse/shell/migrate';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import { PlainOwnerServer } from '@gatehouse/test/plain-owner';
import { query } from '@gatehouse/test/query';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import { lostRows, readRows, seedRows, type SchemaRows } from '@gatehouse/test/schema-rows';
import { seedUsage, usageContradictions, usageTables } from '@gatehouse/test/usage-rows';
import { Client } from 'pg';

const servicesFolder = path.join(import.meta.dirname, '../../services');
const services = ['tenant', 'agent', 'memory', 'chat', 'webhook', 'analytics'] as const;
type Service = (typeof services)[number];

/** Values that don't follow from a column's type and check. `{n}` is the number of the row, in six digits. */
const values: Readonly<Record<string, string | null>> = {
  'tenants.timezone': 'UTC',
  'tenants.limits': '{}',
  'api_keys.key_id': 'ABCDEFGHIJ{n}',
  'api_keys.role': 'user',
  'api_keys.scopes': '{}',
  'agents.visibility': 'tenant',
  'relations.valid_to': null,
  'transfer_previews.target_tenant_id': '00000000-0000-7000-8000-000000000000',
  // The user id is deleted with the completion.
  'user_deletions.completed_at': null,
  'deliveries.status': 'pending',
  'deliveries.event_id': null,
  'deliveries.subscription_id': null,
  // Chat's 0007 fails while runs are in progress.
  'runs.status': 'ok',
};

/** Statements that operators are asked to run before a step. */
const drains: Readonly<Record<string, string>> = {
  'chat/0007_contract_open_runs.sql': 'delete from chat.outbox',
};

let server: PlainOwnerServer;
beforeAll(async () => {
  server = await PlainOwnerServer.start();
});
afterAll(() => server.stop());

async function migrationsOf(service: Service): Promise<string[]> {
  const names = await readdir(path.join(servicesFolder, service, 'migrations'));
  return names.filter((name) => name.endsWith('.sql')).sort();
}

/** A service's schema in a database of its own, which migrates one step at a time with rows in every table. */
class StepwiseMigration {
  readonly client: Client;
  readonly #service: Service;
  readonly #database: string;
  readonly #ownerUrl: string;
  readonly #folder: string;
  readonly #edit: (name: string, sql: string) => string;
  #round = 1;

  private constructor(options: StepwiseOptions, client: Client, folder: string) {
    this.client = client;
    this.#service = options.service;
    this.#database = options.database;
    this.#ownerUrl = options.ownerUrl;
    this.#edit = options.edit ?? ((_name, sql) => sql);
    this.#folder = folder;
  }

  static async start(options: StepwiseOptions): Promise<StepwiseMigration> {
    await server.createDatabase(options.database);
    const client = new Client({ connectionString: server.superuserUrl(options.database) });
    await client.connect();
    return new StepwiseMigration(options, client, await mkdtemp(path.join(tmpdir(), 'gatehouse-stepwise-')));
  }

  async stop(): Promise<void> {
    await this.client.end();
    await rm(this.#folder, { recursive: true });
  }

  rows(): Promise<SchemaRows> {
    return readRows(this.client, this.#service);
  }

  async step(name: string): Promise<void> {
    const sql = await readFile(path.join(servicesFolder, this.#service, 'migrations', name), 'utf8');
    await writeFile(path.join(this.#folder, name), this.#edit(name, sql));
    await migrateService({
      service: this.#service,
      adminUrl: this.#ownerUrl,
      serviceUrl: server.serviceUrl(this.#database, this.#service),
      directory: this.#folder,
    });
  }

  /** Adds rows to every table, as the release of this schema would. */
  async seed(): Promise<void> {
    const analytics = this.#service === 'analytics';
    await seedRows(this.client, {
      schema: this.#service,
      round: this.#round,
      except: analytics ? usageTables : [],
      values,
    });
    if (analytics) await seedUsage(this.client, this.#round);
    this.#round += 1;
  }

  async drain(next: string): Promise<void> {
    const sql = drains[`${this.#service}/${next}`];
    if (sql !== undefined) await this.client.query(sql);
  }
}

interface StepwiseOptions {
  service: Service;
  database: string;
  ownerUrl: string;
  edit?: (name: string, sql: string) => string;
}

/** Losses beyond those that a step may cause: tables, in a contraction. */
function unexpectedLosses(name: string, before: SchemaRows, after: SchemaRows): string[] {
  const lost = lostRows(before, after);
  return name.includes('_contract_') ? lost.filter((loss) => loss.includes(':')) : lost;
}

describe('migrating step by step as an owner without superuser rights', () => {
  it.each(services)(
    'keeps every row of %s and derives what a superuser would',
    async (service) => {
      const databases = { plain: `${service}_plain`, exempt: `${service}_exempt` };
      const plain = await StepwiseMigration.start({
        service,
        database: databases.plain,
        ownerUrl: server.ownerUrl(databases.plain),
      });
      const exempt = await StepwiseMigration.start({
        service,
        database: databases.exempt,
        ownerUrl: server.superuserUrl(databases.exempt),
      });
      try {
        for (const name of await migrationsOf(service)) {
          for (const run of [plain, exempt]) await run.drain(name);
          const before = await plain.rows();
          for (const run of [plain, exempt]) await run.step(name);
          const after = await plain.rows();
          expect([name, unexpectedLosses(name, before, after)]).toEqual([name, []]);
          expect([name, after]).toEqual([name, await exempt.rows()]);
          for (const run of [plain, exempt]) await run.seed();
          const empty = [...(await plain.rows())].filter(([, rows]) => rows.length === 0);
          expect([name, empty]).toEqual([name, []]);
        }
        expect(await tablesWithoutPolicies(server.superuserUrl(databases.plain), service)).toEqual([]);
        if (service === 'analytics') expect(await usageContradictions(plain.client)).toEqual([]);
      } finally {
        await plain.stop();
        await exempt.stop();
      }
    },
    120_000,
  );
});

/** Runs a statement of analytics as the service does that takes events in. */
async function asSystem(database: string, sql: string): Promise<object[]> {
  const client = new Client({
    connectionString: server.serviceUrl(database, 'analytics'),
    options: '-c role=analytics_system',
  });
  await client.connect();
  try {
    return (await client.query<object>(sql)).rows;
  } finally {
    await client.end();
  }
}

const lockNotAvailable = '55P03';
const repair = '0007_repair_backfills.sql';

/** 0003 to 0006 as they were released. */
function asReleased(name: string, sql: string): string {
  if (!/^000[3-6]/.test(name)) return sql;
  return sql.replaceAll(/^alter table analytics\.(usage|traces) (no )?force row level security;$/gm, '');
}

describe('an upgrade of analytics that lost history under such an owner', () => {
  it('is repaired: it ends as if nothing had been lost, and another repair changes nothing', async () => {
    const [service, lostName, soundName] = ['analytics', 'analytics_lost', 'analytics_sound'] as const;
    const ownerUrl = server.ownerUrl(lostName);
    const lost = await StepwiseMigration.start({ service, database: lostName, ownerUrl, edit: asReleased });
    const soundUrl = server.superuserUrl(soundName);
    const sound = await StepwiseMigration.start({ service, database: soundName, ownerUrl: soundUrl });
    try {
      for (const name of (await migrationsOf(service)).filter((name) => name < repair)) {
        for (const run of [lost, sound]) await run.step(name);
        for (const run of [lost, sound]) await run.seed();
      }
      expect(await usageContradictions(lost.client)).toHaveLength(5);
      // Retention has deleted some of the runs that are counted.
      const deleted = `delete from analytics.traces where ended_at < '2026-11-10T10:30Z' and tenant_id <> (
        select min(tenant_id::text)::uuid from analytics.traces)`;
      for (const run of [lost, sound]) await run.client.query(deleted);
      for (const run of [lost, sound]) await run.step(repair);
      expect(await usageContradictions(lost.client)).toEqual([]);
      const [repaired, expected] = [await lost.rows(), await sound.rows()];
      // Users have other numbers, which say nothing.
      for (const table of ['traces', 'usage', 'usage_totals', 'unpriced_models', 'user_counters'])
        expect(repaired.get(table)).toEqual(expected.get(table));
      const again = await readFile(path.join(servicesFolder, service, 'migrations', repair), 'utf8');
      await lost.client.query(`begin; ${again}`);
      // Nothing is counted meanwhile.
      for (const table of ['traces', 'usage', 'usage_totals', 'unpriced_models', 'users', 'usage_users'])
        await expect(
          asSystem(lostName, `set lock_timeout = 10; insert into analytics.${table} default values`),
        ).rejects.toMatchObject({ code: lockNotAvailable });
      await lost.client.query('commit');
      expect(await lost.rows()).toEqual(repaired);
    } finally {
      await lost.stop();
      await sound.stop();
    }
  });
});

/** Rows of the seed are no entries that a service could publish or settle. */
const queuesOf: Readonly<Record<string, string>> = {
  tenant: 'tenant.audit_outbox',
  agent: 'agent.audit_outbox',
  memory: 'memory.audit_outbox',
  webhook: 'webhook.audit_outbox',
  chat: 'chat.outbox, chat.open_runs, chat.run_costs, chat.settlements',
};

describe('a gateway on databases that such an owner has migrated', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    for (const [service, queues] of Object.entries(queuesOf))
      await query(server.superuserUrl(`${service}_plain`), `truncate ${queues}`);
    gateway = await TestGateway.start({
      existing: {
        database: (service) => ({
          url: server.serviceUrl(`${service}_plain`, service),
          adminUrl: server.superuserUrl(`${service}_plain`),
          drop: () => Promise.resolve(),
        }),
        ownerKey: null,
      },
    });
  });
  afterAll(() => gateway.stop());

  it('serves and counts', async () => {
    const tenant = await gateway.makeTenant();
    const agent = { key: 'helper', model: 'small', name: 'Helper' };
    await gateway.call('/v1/agents', { key: tenant.adminKey, body: agent });
    const body = { model: 'agent:helper', messages: [{ role: 'user', content: 'Hello' }] };
    expect((await gateway.call('/v1/chat/completions', { key: tenant.userKey, body })).status).toBe(200);
    await eventually(async () => {
      const summary = await gateway.call('/v1/usage/summary', { key: tenant.adminKey });
      expect(summary.body).toMatchObject({ totals: { requests: 1 } });
    });
  });

  it('makes and drops partitions of traces', async () => {
    const database = 'analytics_plain';
    await asSystem(database, `select analytics.ensure_partition('2001-01-01')`);
    expect(await asSystem(database, 'select analytics.drop_expired_partition() as dropped')).toEqual([
      { dropped: 'traces_2001_01' },
    ]);
  });
});
