import { availableParallelism, cpus } from 'node:os';
import { pageHeader } from '@gatehouse/contract/sessions';
import { expectSuccess, GatewayClient } from '@gatehouse/local/gateway-client';
import { freePort } from '@gatehouse/local/ports';
import { eventually } from '@gatehouse/test/eventually';
import { localDatabaseUrl } from '@gatehouse/test/local-database';
import { LocalSystem, makeStateFolder } from '@gatehouse/test/local-system';
import { makeTenant, type TenantAccess } from '@gatehouse/test/tenants';
import { signed } from '@gatehouse/test/webhook-senders';
import { Client } from 'pg';
import { percentile } from './database.ts';
import { callsOfAdmin, callsOfOwner, callsOfUser, timezone, type Call } from './pages-calls.ts';
import { fillGround, size } from './pages-ground.ts';
import { figure, print } from './table.ts';

/**
 * `make bench`: how long the calls of each page take with a million runs, a thousand agents and a thousand keys in the
 * tenant, beside a thousand other tenants. Each call is sent as a page sends it, with a session, one at a time, and
 * measured at the client. BENCH_ROUNDS (40) sets how often.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 40);
const warmUpRounds = 3;
/** Calls that take seconds are sent less often. */
const mostMsPerCall = 30_000;

const { folder, remove } = await makeStateFolder();
const local = new LocalSystem(folder, {
  PORT: String(await freePort()),
  LOG_LEVEL: 'error',
  GATEHOUSE_PROCESSES: 'one',
});
try {
  const { url, owner_key: ownerKey } = await local.ready();
  const tenant = await makeTenant({ url, ownerKey }, { timezone });
  const made = await makeOneOfEach(url, tenant);
  const admin = await logIn(url, tenant.adminKey);
  const person = await logIn(url, made.personKey);
  const owner = await logIn(url, ownerKey);
  const db = new Client({ connectionString: await localDatabaseUrl(folder) });
  await db.connect();
  const busy = await fillGround(db, tenant.id);
  await db.end();

  console.log(
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), PostgreSQL on the same machine`,
  );
  console.log(
    `pages: ${size.runs} runs in ${size.days} days, ${size.agents} agents, ${size.keys} keys, ${size.users} users, beside ${size.tenants} tenants\n`,
  );
  print([
    ['call', 'rows', 'p50 ms', 'p95 ms'],
    ...(await measureAll(admin, callsOfAdmin({ ...made, busy }))),
    ...(await measureAll(person, callsOfUser)),
    ...(await measureAll(owner, callsOfOwner(tenant.id))),
  ]);
} finally {
  await local.stop();
  await remove();
}

/** The resources that calls name. */
interface Made {
  agent: string;
  endpoint: string;
  call: string;
  run: string;
  /** The key of a user who has a share of the runs. */
  personKey: string;
}

/** Makes one resource of each kind that pages list. */
async function makeOneOfEach(url: string, { adminKey }: TenantAccess): Promise<Made> {
  const gateway = new GatewayClient(url);
  const send = async (path: string, body: object, method = 'POST') =>
    expectSuccess(await gateway.call(adminKey, method, path, body), path) as Record<string, string>;
  const { id: agent = '' } = await send('/v1/agents', {
    ...{ key: 'bench', model: 'gpt-4.1-mini', memory: { enabled: true } },
  });
  await send(`/v1/agents/${agent}/memory/documents/first.md`, { text: 'A moat.' }, 'PUT');
  await send(`/v1/agents/${agent}/kg/entities`, { entities: [{ name: 'Moat', type: 'place' }] });
  const { id: endpoint = '', secret = '' } = await send('/v1/webhooks/endpoints', {
    ...{ name: 'Bench', agent_id: agent, mode: 'sync' },
  });
  await send('/v1/webhooks/subscriptions', {
    ...{ url: 'https://hooks.example.com/', event_types: ['run.failed'] },
  });
  await send('/v1/users/user-0', { display_name: 'Person 0' }, 'PUT');
  await send('/v1/policies', {
    ...{ name: 'bench', per: 'user', limits: { requests_per_minute: 1_000_000 } },
  });
  const { key: personKey = '' } = await send('/v1/api-keys', {
    ...{ name: 'Person', role: 'user', user_id: 'user-0' },
  });
  const body = JSON.stringify({ input: 'Hello.' });
  const proof = signed({ scheme: 'standard', secret }, body, { id: 'msg_1' });
  const headers = { 'content-type': 'application/json', ...proof };
  const delivered = await fetch(`${url}/v1/webhooks/llm?endpoint=${endpoint}`, {
    method: 'POST',
    headers,
    body,
  });
  const { call_id: call, trace_id: trace } = (await delivered.json()) as Record<string, string>;
  if (call === undefined || trace === undefined)
    throw new Error(`a delivery was answered with ${delivered.status}`);
  const run = await eventually(async () => {
    const reply = await gateway.call(adminKey, 'GET', `/v1/traces/follow?trace_id=${trace}&status=ok`);
    const [found] = reply.body['traces'] as { id: string }[];
    if (found === undefined) throw new Error('the run is not in the traces');
    return found.id;
  }, 20_000);
  return { agent, endpoint, call, run, personKey };
}

/** Sends a request of a page, with the session of a browser. */
type Browser = (path: string, body?: object) => Promise<Response>;

async function logIn(url: string, key: string): Promise<Browser> {
  const page = { 'sec-fetch-site': 'same-origin', [pageHeader.name]: pageHeader.value };
  const headers = { ...page, 'content-type': 'application/json' };
  const answer = await fetch(`${url}/login/key`, { method: 'POST', headers, body: JSON.stringify({ key }) });
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  if (answer.status !== 200) throw new Error(`the login was answered with ${answer.status}`);
  return (path, body) =>
    fetch(url + path, {
      headers: { ...headers, cookie },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
}

async function measureAll(browser: Browser, calls: readonly Call[]): Promise<string[][]> {
  const rows: string[][] = [];
  for (const { name, path, body } of calls) {
    const times: number[] = [];
    const endsAt = performance.now() + mostMsPerCall;
    let found = '';
    for (let round = -warmUpRounds; round < rounds && performance.now() < endsAt; round += 1) {
      const startedAt = performance.now();
      const answer = await browser(path, body);
      const text = await answer.text();
      if (round >= 0) times.push(performance.now() - startedAt);
      found = answer.status === 200 ? String(rowsOf(text)) : `status ${answer.status}`;
    }
    rows.push([name, found, ...[0.5, 0.95].map((share) => figure(percentile(times, share)))]);
  }
  return rows;
}

/** The entries of a list, the groups of a summary, or the lines of a file. */
function rowsOf(text: string): number {
  if (!text.startsWith('{')) return text.split('\n').length - 2;
  const { data, groups, traces } = JSON.parse(text) as Record<string, unknown[] | undefined>;
  return (data ?? groups ?? traces ?? [text]).length;
}
