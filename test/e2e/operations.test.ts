import { services, topics } from '@gatehouse/contract/services';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { kafkaClient } from '@gatehouse/events/kafka-client';
import { Signer } from '@gatehouse/identity/signer';
import { Verifier } from '@gatehouse/identity/verifier';
import { createLogger } from '@gatehouse/kit/log';
import { serviceUrl } from '@gatehouse/local/database';
import { prepareDatabase } from '@gatehouse/local/prepare-database';
import { freePort } from '@gatehouse/local/ports';
import { startPostgres, type Postgres } from '@gatehouse/local/postgres';
import { repositoryRoot } from '@gatehouse/local/settings';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { eventually } from '@gatehouse/test/eventually';
import { fencedBlocks, operationsPages } from '@gatehouse/test/examples';
import { TestGateway } from '@gatehouse/test/gateway';
import type { Answer, ServiceName } from '@gatehouse/test/some-gateway';
import { testIdentity } from '@gatehouse/test/identity';
import { withoutKafka } from '@gatehouse/test/kafka';
import { makeTopics, type Topics } from '@gatehouse/test/kafka-topics';
import { postgresWithTools } from '@gatehouse/test/postgres-tools';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { Client } from 'pg';

const run = promisify(execFile);
const pages = operationsPages.map((name) => {
  const file = `docs/operators/${name}.md`;
  const text = readFileSync(path.join(repositoryRoot, file), 'utf8');
  return { file, text, lines: text.split('\n') };
});
const blocks = pages.flatMap(({ file, text, lines }) =>
  fencedBlocks(text).map((block) => ({
    ...block,
    file,
    /** The section that it is in. */
    section:
      lines
        .slice(0, block.line)
        .findLast((line) => /^#+ /.test(line))
        ?.replace(/^#+ /, '') ?? '',
  })),
);
const scripts = blocks.filter(({ language }) => language === 'sh');
const ofCluster = blocks.filter(({ language }) => language === 'console');
/** Settings of one command, and the programs of a cluster and of one machine. */
const known =
  /^([A-Z_]+=\S+\s+)*(helm|kubectl|kafka-consumer-groups\.sh|docker|systemctl|make|npx|curl|cat|cp|cd|mkdir|chgrp|chmod|groupadd|sudo|nano|mv|psql|export|minisign|cosign|\(set -a;|\(cd) /;

describe('the pages about operations', () => {
  it('have no block that nothing checks', () => {
    expect(blocks.filter((block) => !scripts.includes(block) && !ofCluster.includes(block))).toEqual([]);
    expect(scripts.length).toBeGreaterThan(10);
  });

  it.each(ofCluster)('show commands in $file, line $line, that a shell can read', async ({ text }) => {
    await run('bash', ['-n', '-c', text]);
    const joined = text
      .replaceAll(/(\\|\|)\n/g, '$1 ')
      .replaceAll('\\ ', ' ')
      .replaceAll(/^(.*<<'END')$.*?^END$/gms, '$1');
    for (const command of joined.trimEnd().split('\n')) expect(command).toMatch(known);
  });

  it('quote log messages that services write', () => {
    const quoted = pages.flatMap(({ text }) =>
      Array.from(text.matchAll(/\blogs `([a-z][^`]+)`/g), ([, message = '']) => message),
    );
    const sources = globSync('{services,packages}/*/src/**/*.ts', { cwd: repositoryRoot })
      .map((file) => readFileSync(path.join(repositoryRoot, file), 'utf8'))
      .join('\n');
    expect(quoted.length).toBeGreaterThan(3);
    expect(quoted.filter((message) => !sources.includes(`'${message}`))).toEqual([]);
  });
});

const tools = await postgresWithTools();
const describeTools = tools === undefined ? describe.skip : describe;
const obstacle = tools === undefined ? ' (skipped: no PostgreSQL with its own pg_dump)' : '';

describeTools(`the commands of those pages${obstacle}`, () => {
  const passwords = Object.fromEntries(services.map(({ name }) => [name, `pass-${name}`]));
  const state = { runs: 0 };
  let folder: string;
  const servers: Postgres[] = [];
  let old: Postgres;
  let restored: Postgres;
  let gateway: TestGateway | undefined;
  let tenant: TenantAccess;
  let traces: string[];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-operations-'));
    // Run as root, PostgreSQL gets an OS user of its own, who must pass through.
    await chmod(folder, 0o711);
    old = await server('old');
    restored = await server('restored');
    await makeOwner(old);
    await prepareDatabase({ adminUrl: ownerUrl(old), passwords });
    // As a database that has lived: the new one is far behind in counting transactions.
    await query(old, 'call burn_transactions()', [
      `create procedure burn_transactions() language plpgsql as $$
       begin for i in 1..5000 loop perform pg_current_xact_id(); commit; end loop; end $$`,
    ]);
    gateway = await open(old, null);
    tenant = await gateway.makeTenant();
    await gateway.call('/v1/agents', { key: tenant.adminKey, body: { key: 'bot', model: 'small' } });
    for (let asked = 0; asked < 3; asked += 1) await complete({ model: 'agent:bot' });
    await counted();
    traces = await followed();
  });

  afterAll(async () => {
    await gateway?.stop();
    for (const each of servers) await each.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function server(name: string): Promise<Postgres> {
    const at = (program: string): string => path.join(tools ?? '', program);
    const started = await startPostgres({
      dataDirectory: path.join(folder, name),
      port: await freePort(),
      settings: { fsync: 'off' },
      binaries: { initdb: at('initdb'), postgres: at('postgres') },
    });
    servers.push(started);
    return started;
  }

  async function query(on: Postgres, sql: string, before: string[] = []): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: on.adminUrl('gatehouse') });
    await client.connect();
    try {
      for (const statement of before) await client.query(statement);
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  /** The owner of the tables is no superuser, as the pages about the installation have it. */
  async function makeOwner(on: Postgres): Promise<void> {
    const client = new Client({ connectionString: on.adminUrl('postgres') });
    await client.connect();
    await client.query(`create role owner login createrole createdb password 'pass-owner'`);
    await client.end();
  }

  const ownerUrl = (on: Postgres) => (database: string) =>
    on.adminUrl(database).replace(/\/\/.*@/, '//owner:pass-owner@');

  function urlOf(on: Postgres, service: string): string {
    return serviceUrl({ adminUrl: on.adminUrl, passwords }, service);
  }

  function open(on: Postgres, ownerKey: string | null): Promise<TestGateway> {
    const database = (service: ServiceName) => ({
      url: urlOf(on, service),
      adminUrl: on.adminUrl('gatehouse'),
      drop: () => Promise.resolve(),
    });
    return TestGateway.start({ existing: { database, ownerKey } });
  }

  async function ask(route: string, key: string, body?: unknown): Promise<Answer> {
    if (gateway === undefined) throw new Error('no gateway runs');
    return gateway.call(route, { key, body });
  }

  async function complete(fields: Record<string, unknown>): Promise<void> {
    const body = { messages: [{ role: 'user', content: 'Hello' }], ...fields };
    // A service that was just started may be a moment from its peers and its database: a 503, which is no run.
    await eventually(async () =>
      expect((await ask('/v1/chat/completions', tenant.userKey, body)).status).toBe(200),
    );
    state.runs += 1;
  }

  async function counted(): Promise<void> {
    await eventually(async () => {
      const answer = await ask('/v1/usage/summary', tenant.adminKey);
      expect((answer.body as { totals: unknown }).totals).toMatchObject({ requests: state.runs });
    });
  }

  async function followed(): Promise<string[]> {
    const answer = await ask('/v1/traces/follow', tenant.adminKey);
    return (answer.body as { traces: { id: string }[] }).traces.map(({ id }) => id);
  }

  /** Pastes the blocks of a section, in a terminal where the page's variables are set. */
  async function paste(section: string, on: Postgres): Promise<string> {
    const text = scripts.flatMap((block) => (block.section === section ? [block.text] : [])).join('');
    if (text === '') throw new Error(`the section ${section} has no commands`);
    const { stdout, stderr } = await run('bash', ['--norc', '-e', '-o', 'pipefail', '-c', text], {
      cwd: folder,
      env: {
        PATH: [tools, path.dirname(process.execPath), process.env['PATH']].join(path.delimiter),
        ADMIN_DATABASE_URL: on.adminUrl('gatehouse'),
        CHAT_DATABASE_URL: urlOf(on, 'chat'),
        MEMORY_DATABASE_URL: urlOf(on, 'memory'),
        TENANT_DATABASE_URL: urlOf(on, 'tenant'),
        ANALYTICS_DATABASE_URL: urlOf(on, 'analytics'),
        RESTORE_MAINTENANCE_URL: restored.adminUrl('postgres'),
        RESTORE_DATABASE_URL: restored.adminUrl('gatehouse'),
        OWNER: 'owner',
      },
    });
    expect(stderr).toBe('');
    return stdout;
  }

  it('back up a gateway that works', async () => {
    expect(Number(await paste('Back up and restore', old))).toBeGreaterThan(15);
    await complete({ model: 'small' });
    // It came after the backup.
    state.runs -= 1;
  });

  it('restore it into another PostgreSQL: keys, agents, usage and traces, and it goes on counting', async () => {
    const ownerKey = gateway?.ownerKey ?? '';
    await gateway?.stop();
    gateway = undefined;
    const [last] = await query(old, 'select max(change_transaction)::text as id from analytics.traces');
    await old.stop();

    await makeOwner(restored);
    expect(await paste('Restore', restored)).toBe('');
    // The next release migrates as the owner.
    await prepareDatabase({ adminUrl: ownerUrl(restored), passwords });
    const [next] = await query(restored, 'select pg_current_xact_id()::text as id');
    expect(BigInt(String(next?.['id']))).toBeLessThan(BigInt(String(last?.['id'])));

    gateway = await open(restored, ownerKey);
    await gateway.makeTenant();
    expect(await followed()).toEqual(traces);
    await counted();
    await complete({ model: 'agent:bot' });
    await counted();
    await eventually(async () => expect(await followed()).toHaveLength(traces.length + 1));
  });

  it.each(scripts.filter(({ section }) => section.startsWith('Gatehouse')))(
    'look into the cause of $section',
    async ({ section }) => {
      expect(await paste(section, restored)).toContain('row');
    },
  );

  it('make a signing key that peers take beside the old one', async () => {
    await paste('Signing keys', restored);
    const { public: publicKey = '', private: privateKey = '' } = Object.fromEntries(
      (await readFile(path.join(folder, 'edge.2.keys'), 'utf8'))
        .trim()
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
    ) as Record<string, string>;
    const identity = await testIdentity();
    const { keys } = JSON.parse(identity.publicKeys) as { keys: unknown[] };
    const both = await Verifier.create(JSON.stringify({ keys: [...keys, JSON.parse(publicKey)] }));
    const token = await (await Signer.create(privateKey)).serviceToken('tenant');
    expect(await both.callerOf(token, 'tenant')).toBe('edge');
    expect(await both.callerOf(await (await identity.signer('edge')).serviceToken('tenant'), 'tenant')).toBe(
      'edge',
    );
    await expect((await Verifier.create(identity.publicKeys)).callerOf(token, 'tenant')).rejects.toThrow();
  });

  it('make a key for the ring, which is taken up in two steps', async () => {
    await paste('Key ring', restored);
    const added = (await readFile(path.join(folder, 'k2.key'), 'utf8')).trim();
    const before = (await testIdentity()).keyRing;
    const rings = [before, `${before},${added}`, `${added},${before}`].map((text) => KeyRing.parse(text));
    const opens = (ring: KeyRing | undefined, sealed: Buffer): boolean => {
      try {
        return ring?.open(sealed, 'c').toString() === 'secret';
      } catch {
        return false;
      }
    };
    // Opener × sealer. Between two steps every replica opens every value; across both steps only the later ring does.
    const matrix = rings.map((opener) =>
      rings.map((sealer) => opens(opener, sealer.seal(Buffer.from('secret'), 'c'))),
    );
    expect(matrix).toEqual([
      [true, true, false],
      [true, true, true],
      [true, true, true],
    ]);
  });

  it('give a service another login, made by its migration step, and drop the old one', async () => {
    await gateway?.stop();
    gateway = undefined;
    const second = new URL(urlOf(restored, 'chat'));
    second.username = 'chat_login_2';
    second.password = 'another';
    const migration = path.join(repositoryRoot, 'services/chat/src/migrate.ts');
    const env = { DATABASE_URL: second.href, MIGRATION_DATABASE_URL: restored.adminUrl('gatehouse') };
    await run(process.execPath, [migration], { env });
    await paste('Database passwords', restored);
    const instancesSeenBy = async (url: string): Promise<unknown> => {
      const client = new Client({ connectionString: url, options: '-c role=chat_system' });
      try {
        await client.connect();
        return (await client.query('select id from chat.instances')).rows.length;
      } finally {
        await client.end();
      }
    };
    expect(await instancesSeenBy(second.href)).toBeGreaterThan(0);
    await expect(instancesSeenBy(urlOf(restored, 'chat'))).rejects.toThrow('chat_login');
  });
});

const noKafka = await withoutKafka();
const describeKafka = noKafka === undefined ? describe : describe.skip;

describeKafka(`after a restore${noKafka === undefined ? '' : ` (skipped: ${noKafka})`}`, () => {
  let kafka: Topics;
  let gateway: TestGateway;
  beforeAll(async () => {
    kafka = await makeTopics();
    gateway = await TestGateway.start({ kafka });
  });
  afterAll(() => gateway.stop(), 60_000);

  it('usage and audit log are complete again once their topics were read again, however often', async () => {
    const tenant = await gateway.makeTenant();
    for (let asked = 0; asked < 3; asked += 1) {
      const body = { model: 'priced', messages: [{ role: 'user', content: 'Hello' }] };
      expect((await gateway.call('/v1/chat/completions', { key: tenant.userKey, body })).status).toBe(200);
    }
    const entries = async (): Promise<unknown[]> => {
      const usage = await gateway.call('/v1/usage/summary', { key: tenant.adminKey });
      const costs = await gateway.call('/v1/costs/summary', { key: tenant.adminKey });
      const entries = `/internal/v1/owner/audit-log?tenant_id=${tenant.id}`;
      const audit = await gateway.call(entries, { key: gateway.ownerKey });
      const { totals } = usage.body as { totals: { requests: number } };
      const { total_usd: total } = costs.body as { total_usd: string };
      const { data } = audit.body as { data: { id: string }[] };
      expect(totals.requests).toBe(3);
      expect(data.length).toBeGreaterThanOrEqual(2);
      return [totals, total, data.map(({ id }) => id)];
    };
    let before: unknown[] = [];
    await eventually(async () => (before = await entries()));

    for (const lost of [true, false]) {
      await gateway.stopMember('analytics-1');
      await gateway.stopMember('tenant-1');
      if (lost) await forgetAll();
      await readAgain();
      await gateway.startMember('tenant-1');
      await gateway.startMember('analytics-1');
      await eventually(async () => expect(await entries()).toEqual(before), 30_000);
    }
  });

  /** As a backup from before all of it. */
  async function forgetAll(): Promise<void> {
    const tables = await gateway.rows(
      'analytics',
      `select relname from pg_class where relnamespace = 'analytics'::regnamespace
       and relkind in ('r', 'p') and relname <> 'migrations' and not relispartition`,
    );
    await gateway.rows(
      'analytics',
      `truncate ${tables.map((row) => `analytics.${String(row['relname'])}`).join(', ')}`,
    );
    await gateway.rows('tenant', 'truncate tenant.audit_log');
  }

  /** As the page has `kafka-consumer-groups.sh` do it. */
  async function readAgain(): Promise<void> {
    const { KAFKA_BROKERS, KAFKA_PREFIX } = kafka;
    const client = await kafkaClient('test', [KAFKA_BROKERS], createLogger('test', 'silent'));
    const admin = client.admin();
    await admin.connect();
    try {
      for (const [service, topic] of [
        ['analytics', topics.usage],
        ['tenant', topics.audit],
      ] as const) {
        const group = { groupId: `${KAFKA_PREFIX}gatehouse-${service}`, topic: `${KAFKA_PREFIX}${topic}` };
        await admin.resetOffsets({ ...group, earliest: true });
      }
    } finally {
      await admin.disconnect();
    }
  }
});
