import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { version } from '@gatehouse/kit/version';
import { checksumOf } from '@gatehouse/pg/migration-record';
import { newKeyRing } from '@gatehouse/secrets/key-ring';
import { eventually } from '@gatehouse/test/eventually';
import type { TestGateway } from '@gatehouse/test/gateway';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import { PlainOwnerServer } from '@gatehouse/test/plain-owner';
import { seedRows } from '@gatehouse/test/schema-rows';
import type { Answer } from '@gatehouse/test/some-gateway';
import { Client } from 'pg';
import { dumpRows } from './dump-rows.ts';
import {
  folderOf,
  migrateAll,
  migrationsOf,
  root,
  servicesWithSchema,
  startGateway,
  type KeptAnswer,
  type KeptAnswers,
} from './kept-version.ts';

/**
 * Writes `releases/<version>/`: checksums of the migrations, rows of every table, and answers of the API about them. The
 * rows are those that a gateway writes, and made-up ones in tables that it leaves empty.
 */

const database = 'kept';
const folder = folderOf(version);

async function checksums(): Promise<string> {
  const lines: string[] = [];
  for (const service of [...servicesWithSchema].sort()) {
    const names = (await readdir(migrationsOf(service))).filter((name) => name.endsWith('.sql')).sort();
    for (const name of names) {
      const file = path.join(migrationsOf(service), name);
      lines.push(`${checksumOf(await readFile(file, 'utf8'))}  ${path.relative(root, file)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

class Ground {
  readonly #gateway: TestGateway;
  readonly #mcpServer: TestMcpServer;
  #adminKey = '';

  constructor(gateway: TestGateway, mcpServer: TestMcpServer) {
    this.#gateway = gateway;
    this.#mcpServer = mcpServer;
  }

  /** Makes what a tenant has after a while: an agent with all that belongs to one, usage, responses and an audit log. */
  async make(): Promise<Omit<KeptAnswers, 'keyRing'>> {
    const tenant = await this.#gateway.makeTenant({ retention_days: 3_650 });
    this.#adminKey = tenant.adminKey;
    await this.#post('/v1/mcp/servers', { name: 'mail', url: this.#mcpServer.url });
    const agent = await this.#post('/v1/agents', {
      ...{ key: 'clerk', name: 'Clerk', model: 'small', memory: { enabled: true } },
      tools: { mcp_servers: ['mail/search'] },
    });
    await this.#post('/v1/channels/instances', {
      ...{ name: 'Desk', type: 'generic', agent_id: agent, credentials: {} },
      config: { callback_url: 'http://127.0.0.1:9/' },
    });
    await this.#post('/v1/webhooks/endpoints', { name: 'Alerts', agent_id: agent });
    const memory = `/v1/agents/${agent}/memory/documents`;
    await this.#call(`${memory}/key.md`, { method: 'PUT', body: { text: 'The key is under the mat.' } });
    const entities = [
      { external_id: 'ann', name: 'Ann', type: 'person' },
      { external_id: 'bob', name: 'Bob', type: 'person' },
    ];
    await this.#call(`/v1/agents/${agent}/kg/entities`, { body: { entities } });
    const relations = [{ source: 'ann', target: 'bob', type: 'knows' }];
    await this.#call(`/v1/agents/${agent}/kg/relations`, { body: { relations } });
    const messages = [{ role: 'user', content: 'Hello' }];
    await this.#call('/v1/chat/completions', { body: { model: 'small', messages } });
    await this.#call('/v1/chat/completions', { body: { model: 'agent:clerk', messages } });
    await this.#call('/v1/responses', { body: { model: 'small', input: 'Hello' } });
    const usage = await this.#usage();
    const paths = [
      '/v1/agents',
      '/v1/mcp/servers',
      '/v1/channels/instances',
      '/v1/webhooks/endpoints',
      memory,
      `${memory}/key.md`,
      `/v1/agents/${agent}/kg/entities`,
      usage,
    ];
    const answers: KeptAnswer[] = [];
    for (const each of paths) answers.push(await this.#answer(each, 'admin'));
    answers.push(await this.#answer('/internal/v1/owner/tenants', 'owner'));
    return { ownerKey: this.#gateway.ownerKey, adminKey: this.#adminKey, answers };
  }

  /** The path of the usage of this month, once all runs are counted. */
  async #usage(): Promise<string> {
    const month = new Date().toISOString().slice(0, 7);
    const usage = `/v1/usage/summary?from=${month}-01T00:00:00Z&to=${new Date().toISOString()}`;
    await eventually(async () => {
      const { totals } = (await this.#call(usage)).body as { totals: { requests: number } };
      if (totals.requests < 3) throw new Error(`${totals.requests} of 3 requests are counted`);
    });
    return usage;
  }

  async #answer(route: string, key: 'owner' | 'admin'): Promise<KeptAnswer> {
    const answer = await this.#call(route, key === 'owner' ? { key: this.#gateway.ownerKey } : {});
    // The time of the answer itself is left out.
    const { as_of: _, ...body } = answer.body as Record<string, unknown>;
    return { path: route, key, body };
  }

  async #post(route: string, body: object): Promise<string> {
    return ((await this.#call(route, { body })).body as { id: string }).id;
  }

  async #call(route: string, call: object = {}): Promise<Answer> {
    const answer = await this.#gateway.call(route, { key: this.#adminKey, ...call });
    if (answer.status >= 300) throw new Error(`${route}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }
}

async function makeRows(server: PlainOwnerServer): Promise<KeptAnswers> {
  const keyRing = newKeyRing('kept');
  const mcpServer = await TestMcpServer.start([{ name: 'search', run: () => said('Found.') }]);
  const gateway = await startGateway(server, database, { keyRing, ownerKey: null });
  try {
    return { keyRing, ...(await new Ground(gateway, mcpServer).make()) };
  } finally {
    await gateway.stop();
    await mcpServer.stop();
  }
}

if (existsSync(folder)) {
  process.stderr.write(
    `The version ${version} is kept already: ${path.relative(root, folder)} never changes.\n`,
  );
  process.exit(1);
}
const server = await PlainOwnerServer.start();
try {
  await server.createDatabase(database);
  await migrateAll(server, database);
  const answers = await makeRows(server);
  const client = new Client({ connectionString: server.superuserUrl(database) });
  await client.connect();
  for (const schema of servicesWithSchema) await seedRows(client, { schema, round: 1, emptyOnly: true });
  const dump = await dumpRows(client, servicesWithSchema);
  await client.end();
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'checksums.txt'), await checksums());
  await writeFile(path.join(folder, 'dump.sql'), dump);
  await writeFile(path.join(folder, 'answers.json'), `${JSON.stringify(answers, null, 2)}\n`);
  process.stdout.write(`Wrote ${path.relative(root, folder)}.\n`);
} finally {
  await server.stop();
}
