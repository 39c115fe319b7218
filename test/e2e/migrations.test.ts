import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrateService } from '@gatehouse/shell/migrate';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import { PlainOwnerServer } from '@gatehouse/test/plain-owner';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import { lostRows, readRows, seedRows, type SchemaRows } from '@gatehouse/test/schema-rows';
import { Client } from 'pg';
import { emptyQueues } from '../releases/kept-version.ts';

const servicesFolder = path.join(import.meta.dirname, '../../services');
const services = ['tenant', 'agent', 'memory', 'chat', 'webhook', 'analytics'] as const;
type Service = (typeof services)[number];

let server: PlainOwnerServer;
beforeAll(async () => {
  server = await PlainOwnerServer.start();
});
afterAll(() => server.stop());

interface Migration {
  name: string;
  sql: string;
}

async function migrationsOf(service: Service): Promise<Migration[]> {
  const folder = path.join(servicesFolder, service, 'migrations');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => ({ name, sql: await readFile(path.join(folder, name), 'utf8') })),
  );
}

/** A service's schema in a database of its own, which migrates one step at a time with rows in every table. */
class StepwiseMigration {
  readonly #service: Service;
  readonly #database: string;
  readonly #ownerUrl: string;
  readonly #client: Client;
  readonly #folder: string;
  #round = 1;

  private constructor(options: StepwiseOptions, client: Client, folder: string) {
    this.#service = options.service;
    this.#database = options.database;
    this.#ownerUrl = options.ownerUrl;
    this.#client = client;
    this.#folder = folder;
  }

  static async start(options: StepwiseOptions): Promise<StepwiseMigration> {
    await server.createDatabase(options.database);
    const client = new Client({ connectionString: server.superuserUrl(options.database) });
    await client.connect();
    return new StepwiseMigration(options, client, await mkdtemp(path.join(tmpdir(), 'gatehouse-stepwise-')));
  }

  async stop(): Promise<void> {
    await this.#client.end();
    await rm(this.#folder, { recursive: true });
  }

  rows(): Promise<SchemaRows> {
    return readRows(this.#client, this.#service);
  }

  async step({ name, sql }: Migration): Promise<void> {
    await writeFile(path.join(this.#folder, name), sql);
    await migrateService({
      service: this.#service,
      adminUrl: this.#ownerUrl,
      serviceUrl: server.serviceUrl(this.#database, this.#service),
      directory: this.#folder,
    });
  }

  /** Adds rows to every table, as the release of this schema would. */
  async seed(): Promise<void> {
    await seedRows(this.#client, { schema: this.#service, round: this.#round });
    this.#round += 1;
  }
}

interface StepwiseOptions {
  service: Service;
  database: string;
  ownerUrl: string;
}

/** Losses beyond those that a step may cause: tables and columns, in a contraction. */
function unexpectedLosses(name: string, before: SchemaRows, after: SchemaRows): string[] {
  const lost = lostRows(before, after);
  return name.includes('_contract_') ? lost.filter((loss) => loss.includes(':')) : lost;
}

/**
 * Runs the steps as an owner without superuser rights, in `database`, and as a superuser, each with rows in every table.
 * Returns the rows that a step has lost, and the tables that the two owners have left with different rows.
 */
async function findings(service: Service, database: string, steps: readonly Migration[]): Promise<string[]> {
  const [ownerUrl, exempt] = [server.ownerUrl(database), `${database}_exempt`];
  const plain = await StepwiseMigration.start({ service, database, ownerUrl });
  const superuser = await StepwiseMigration.start({
    service,
    database: exempt,
    ownerUrl: server.superuserUrl(exempt),
  });
  const found: string[] = [];
  try {
    for (const step of steps) {
      const before = await plain.rows();
      for (const run of [plain, superuser]) await run.step(step);
      const [after, expected] = [await plain.rows(), await superuser.rows()];
      for (const loss of unexpectedLosses(step.name, before, after)) found.push(`${step.name} lost ${loss}`);
      for (const [table, rows] of expected)
        if (JSON.stringify(rows) !== JSON.stringify(after.get(table)))
          found.push(`${step.name} left other rows in ${table}`);
      for (const run of [plain, superuser]) await run.seed();
      for (const [table, rows] of await plain.rows())
        if (rows.length === 0) found.push(`${table} has no rows after ${step.name}`);
    }
  } finally {
    await plain.stop();
    await superuser.stop();
  }
  return found;
}

describe('migrating step by step as an owner without superuser rights', () => {
  it.each(services)(
    'keeps every row of %s and derives what a superuser would',
    async (service) => {
      const database = `${service}_plain`;
      expect(await findings(service, database, await migrationsOf(service))).toEqual([]);
      expect(await tablesWithoutPolicies(server.superuserUrl(database), service)).toEqual([]);
    },
    120_000,
  );
});

describe('the comparison of such steps', () => {
  async function findingsAfter(database: string, name: string, sql: string): Promise<string[]> {
    const next = { name: `9999_${name}.sql`, sql };
    return findings('agent', database, [...(await migrationsOf('agent')), next]);
  }

  const fill = `alter table agent.agents add column shout text; update agent.agents set shout = upper(name);`;

  it('finds a statement that forced row-level security leaves without rows, and none where it is lifted', async () => {
    expect(await findingsAfter('agent_hidden', 'shout', fill)).toEqual([
      '9999_shout.sql left other rows in agents',
    ]);
    const lifted = `alter table agent.agents no force row level security; ${fill}
      alter table agent.agents force row level security;`;
    expect(await findingsAfter('agent_seen', 'shout', lifted)).toEqual([]);
  });

  it('finds lost rows, and tables that only a contraction may drop', async () => {
    const lose = `truncate agent.cookies; drop table agent.refused_addresses;`;
    const lost = expect.stringMatching(/^9999_(contract_)?lose\.sql lost cookies: \{/);
    // Each step before it has left two rows.
    const all = (await migrationsOf('agent')).flatMap(() => [lost, lost]);
    expect(await findingsAfter('agent_lost', 'lose', lose)).toEqual([
      ...all,
      '9999_lose.sql lost refused_addresses',
    ]);
    expect(await findingsAfter('agent_contracted', 'contract_lose', lose)).toEqual(all);
  });
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

describe('a gateway on databases that such an owner has migrated', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    await emptyQueues((service) => server.superuserUrl(`${service}_plain`));
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
