import { queryLocal } from '@gatehouse/test/local-database';
import { expectSuccess, GatewayClient } from '@gatehouse/local/gateway-client';
import { makeTenant, type TenantAccess } from '@gatehouse/test/tenants';
import { isGateway, withGateway } from './alone.ts';
import type { Gateway } from './contest.ts';
import { closedLoop, eachOnce, percentile, percentiles, type Target } from './load.ts';
import { makeTenants, type Targets } from './many-tenants.ts';
import { cpuMs } from './processes.ts';
import { figure, median, print } from './table.ts';

/**
 * `make bench`: requests with 16 policies each, in turns with those of a tenant without any, through one process.
 * First with limits and budgets of which leases hold many requests, then of 1,000 users with a small budget each. Then how
 * long the refusal by a spent budget takes. Last, requests of 10,000 tenants with 10 policies each, in turns with those of as
 * many tenants without any, and of one with them: how long the first one of each takes, and CPU time. BENCH_ROUNDS (3),
 * BENCH_SECONDS (4) and BENCH_TENANTS (10000) set its length.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 4);
const tenants = Number(process.env['BENCH_TENANTS'] ?? 10_000);
const connections = 64;
/** Fewer where most requests lease from 40 counters: more would wait longer for the tenant service than they may. */
const leasingConnections = 16;
/** Fewer still for the first requests, which open the counters. */
const firstConnections = 2;
const warmUpSeconds = 10;
const users = 1_000;
const refusals = 200;
const aims = { large: 0.85, small: 0.6, refusalMs: 5 };

const large = {
  limits: { requests_per_minute: 10_000_000, tokens_per_minute: 1_000_000_000, max_concurrent: 10_000 },
  budget: { usd: '1000000', period: 'day' },
};
/** Less than 32 reservations of 4,400 tokens at a USD per million, of which a request uses 350. */
const small = { budget: { usd: '0.13', period: 'day' } };
const spent = { budget: { usd: '0.000001', period: 'day' } };
const pers = [null, 'user', 'session', 'api_key', 'model'] as const;

/** Policies with large limits, of which some have a counter for each user, session, key and model. */
function largePolicies(count: number): object[] {
  return Array.from({ length: count }, (_, index) => {
    const per = pers[index % pers.length] ?? null;
    return { name: `policy-${index}`, ...(per !== null && { per }), ...large };
  });
}

const policiesOf = (ofUsers: object): object[] => [
  ...largePolicies(15),
  { name: 'users', per: 'user', ...ofUsers },
];

async function tenantWith(gateway: Gateway, policies: readonly object[]): Promise<TenantAccess> {
  const { url } = gateway.target;
  const tenant = await makeTenant({ url, ownerKey: gateway.credentials.owner_key });
  await makePolicies(new GatewayClient(url), tenant.adminKey, policies);
  return tenant;
}

async function makePolicies(client: GatewayClient, key: string, policies: readonly object[]): Promise<void> {
  for (const policy of policies)
    expectSuccess(await client.call(key, 'POST', '/v1/policies', policy), 'making a policy');
}

function targetOf({ target }: Gateway, { userKey }: TenantAccess, user: string): Target {
  return actingAs({ ...target, headers: { authorization: `Bearer ${userKey}` } }, user);
}

function actingAs(target: Target, user: string): Target {
  const headers = { ...target.headers, 'x-service-user-id': user, 'x-session-id': `of-${user}` };
  return { ...target, headers };
}

/** Rows read so far by scans of whole tables. */
async function scannedRowsOf({ stateFolder }: Gateway): Promise<number> {
  const [row] = await queryLocal<{ rows: string }>(
    stateFolder,
    'select sum(seq_tup_read)::text as rows from pg_stat_user_tables',
  );
  return Number(row?.rows);
}

/** Calls for leases so far: each has a number. */
async function leasesOf({ stateFolder }: Gateway): Promise<number> {
  const [row] = await queryLocal<{ calls: string | null }>(
    stateFolder,
    'select max(sequence)::text as calls from tenant.limit_holds',
  );
  return Number(row?.calls ?? 0);
}

interface Compared {
  ratio: number;
  perSecond: number;
  leases: number;
  scannedRows: number;
  /** Latencies of one request of each target, a few at a time, before the rounds. */
  once: readonly number[];
  /** CPU time of a request, in milliseconds: of the gateway, and of PostgreSQL. */
  gatewayCpuMs: number;
  databaseCpuMs: number;
}

/** CPU time so far, in milliseconds: of the gateway, and of PostgreSQL. */
function cpuOf({ processes }: Gateway): [number, number] {
  const of = (isWanted: (name: string) => boolean): number =>
    processes.filter(({ name }) => isWanted(name)).reduce((sum, { pid }) => sum + cpuMs(pid), 0);
  return [of(isGateway), of((name) => !isGateway(name))];
}

/**
 * Requests per second by those of others, median of the rounds; and of each request, calls for leases and rows read by
 * scans of whole tables.
 */
async function compare(
  gateway: Gateway,
  [limited, others]: readonly [Targets, Targets],
  clients = connections,
): Promise<Compared> {
  const ratios: number[] = [];
  const rates: number[] = [];
  let [requests, leases, scannedRows] = [0, 0, 0];
  const cpu: [number, number] = [0, 0];
  const once = await eachOnce(limited, firstConnections);
  await eachOnce(others, firstConnections);
  for (const targets of [others, limited]) await closedLoop(targets, clients, warmUpSeconds);
  for (let round = 0; round < rounds; round += 1) {
    const perSecond = new Map<Targets, number>();
    for (const targets of round % 2 === 0 ? [limited, others] : [others, limited]) {
      const before = {
        ...{ leases: await leasesOf(gateway), rows: await scannedRowsOf(gateway) },
        cpu: cpuOf(gateway),
      };
      const done = await closedLoop(targets, clients, seconds);
      perSecond.set(targets, done.perSecond);
      if (targets !== limited) continue;
      const after = cpuOf(gateway);
      for (const part of [0, 1] as const) cpu[part] += after[part] - before.cpu[part];
      leases += (await leasesOf(gateway)) - before.leases;
      scannedRows += (await scannedRowsOf(gateway)) - before.rows;
      requests += done.requests;
    }
    ratios.push((perSecond.get(limited) ?? NaN) / (perSecond.get(others) ?? NaN));
    rates.push(perSecond.get(limited) ?? NaN);
  }
  return {
    ...{ ratio: median(ratios), perSecond: median(rates) },
    ...{ leases: leases / requests, scannedRows: scannedRows / requests },
    ...{ once, gatewayCpuMs: cpu[0] / requests, databaseCpuMs: cpu[1] / requests },
  };
}

async function refusedWithin({ target }: Gateway, { userKey }: TenantAccess): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < refusals; index += 1) {
    const startedAt = performance.now();
    const response = await fetch(`${target.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${userKey}`, 'content-type': 'application/json' },
        'x-service-user-id': 'ada',
      },
      body: JSON.stringify({ model: 'bench', messages: [{ role: 'user', content: 'x'.repeat(900) }] }),
    });
    await response.arrayBuffer();
    if (response.status !== 429) throw new Error(`a spent budget was answered by ${response.status}`);
    times.push(performance.now() - startedAt);
  }
  return percentiles(times.slice(refusals / 4)).p50;
}

function catalogue(url: string): object {
  const price = { input_per_mtok: '1', output_per_mtok: '1' };
  return {
    providers: [{ name: 'bench', kind: 'openai', base_url: `${url}/v1` }],
    models: [{ id: 'bench', provider: 'bench', max_output_tokens: 4_096, price }],
  };
}

await withGateway(
  {
    provider: 'test/bench/provider.ts',
    catalogue,
    load: '16 policies on each request',
    sharesOneCore: false,
  },
  async (gateway) => {
    const free = await tenantWith(gateway, []);
    const one: Targets = [targetOf(gateway, free, 'ada')];
    const ofLarge = await tenantWith(gateway, policiesOf(large));
    const first = await compare(gateway, [[targetOf(gateway, ofLarge, 'ada')], one]);
    const ofSmall = await tenantWith(gateway, policiesOf(small));
    const asUsers = (tenant: TenantAccess): Targets => {
      const rest = Array.from({ length: users - 1 }, (_, user) => targetOf(gateway, tenant, `user-${user}`));
      return [targetOf(gateway, tenant, 'ada'), ...rest];
    };
    const second = await compare(gateway, [asUsers(ofSmall), asUsers(free)]);
    const refusalMs = await refusedWithin(gateway, await tenantWith(gateway, policiesOf(spent)));
    print([
      ['16 policies on each request', 'requests/s', ': without', 'aim', 'calls for leases of a request'],
      ['large limits, one user', ...rowOf(first, aims.large)],
      [`${users} users of small budgets`, ...rowOf(second, aims.small)],
    ]);
    print([
      ['', 'median', 'aim'],
      ['refusal by a spent budget, ms', figure(refusalMs, 1), String(aims.refusalMs)],
    ]);
    await printMany(gateway);
  },
);

function rowOf({ perSecond, ratio, leases }: Compared, aim: number): string[] {
  return [figure(perSecond, 0), figure(ratio, 2), String(aim), figure(leases, 3)];
}

async function printMany(gateway: Gateway): Promise<void> {
  const without = await makeTenants(gateway, tenants);
  const made = await makeTenants(gateway, tenants, (client, key) =>
    makePolicies(client, key, largePolicies(10)),
  );
  await queryLocal(gateway.stateFolder, 'analyze');
  const [first, ...rest] = made.map((target) => actingAs(target, 'ada'));
  if (first === undefined) return;
  const all: Targets = [first, ...rest];
  const toOthers = await compare(gateway, [all, without], leasingConnections);
  const toOne = await compare(gateway, [all, [first]], leasingConnections);
  const row = (others: string, { perSecond, ratio, leases, scannedRows }: Compared): string[] => [
    others,
    ...[figure(perSecond, 0), figure(ratio, 2), figure(leases, 3), figure(scannedRows, 1)],
  ];
  print([
    [`${tenants} tenants, 10 policies each`, 'requests/s', 'ratio', 'calls for leases', 'rows of scans'],
    row('to as many without policies', toOthers),
    row('to one of them', toOne),
  ]);
  // Before the second rounds each has had several.
  print([
    [`one request of each, ${firstConnections} at a time`, 'p50, ms', 'p95, ms'],
    ...[toOthers, toOne].map(({ once }, index) => [
      index === 0 ? 'the first one' : 'a later one',
      ...[figure(percentile(once, 0.5), 1), figure(percentile(once, 0.95), 1)],
    ]),
  ]);
  print([
    ['CPU time of a request, ms', 'gateway', 'PostgreSQL'],
    ['of all in turns', figure(toOthers.gatewayCpuMs, 2), figure(toOthers.databaseCpuMs, 2)],
  ]);
}
