import { queryLocal } from '@gatehouse/test/local-database';
import { expectSuccess, GatewayClient } from '@gatehouse/local/gateway-client';
import { makeTenant, type TenantAccess } from '@gatehouse/test/tenants';
import { withGateway } from './alone.ts';
import type { Gateway } from './contest.ts';
import { closedLoop, eachOnce, percentiles, type Target } from './load.ts';
import { figure, median, print } from './table.ts';

/**
 * `make bench`: requests with 16 policies each, in turns with those of a tenant without any, through one process.
 * First with limits and budgets of which leases hold many requests, then of 1,000 users with a small budget each. Last, how
 * long the refusal by a spent budget takes. BENCH_ROUNDS (3) and BENCH_SECONDS (4) set its length.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 4);
const connections = 64;
const warmUpSeconds = 10;
const users = 1_000;
const refusals = 200;
const aims = { large: 0.85, small: 0.6, refusalMs: 5 };

type Targets = readonly [Target, ...Target[]];

const large = {
  limits: { requests_per_minute: 10_000_000, tokens_per_minute: 1_000_000_000, max_concurrent: 10_000 },
  budget: { usd: '1000000', period: 'day' },
};
/** Less than 32 reservations of 4,400 tokens at a USD per million, of which a request uses 350. */
const small = { budget: { usd: '0.13', period: 'day' } };
const spent = { budget: { usd: '0.000001', period: 'day' } };
const pers = [null, 'user', 'session', 'api_key', 'model'] as const;

/** Sixteen policies, of which some have a counter for each user, session, key and model. */
function policiesOf(ofUsers: object): object[] {
  const shared = Array.from({ length: 15 }, (_, index) => {
    const per = pers[index % pers.length] ?? null;
    return { name: `policy-${index}`, ...(per !== null && { per }), ...large };
  });
  return [...shared, { name: 'users', per: 'user', ...ofUsers }];
}

async function tenantWith(gateway: Gateway, policies: readonly object[]): Promise<TenantAccess> {
  const { url } = gateway.target;
  const tenant = await makeTenant({ url, ownerKey: gateway.credentials.owner_key });
  const client = new GatewayClient(url);
  for (const policy of policies)
    expectSuccess(await client.call(tenant.adminKey, 'POST', '/v1/policies', policy), 'making a policy');
  return tenant;
}

function targetOf({ target }: Gateway, { userKey }: TenantAccess, user: string): Target {
  return {
    ...target,
    headers: { authorization: `Bearer ${userKey}`, 'x-service-user-id': user, 'x-session-id': `of-${user}` },
  };
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
}

/** Requests per second by those without policies, median of the rounds, and calls for leases for each request. */
async function compare(gateway: Gateway, limited: Targets, free: Targets): Promise<Compared> {
  const ratios: number[] = [];
  const rates: number[] = [];
  let [requests, leases] = [0, 0];
  await eachOnce([...limited, ...free], connections);
  for (const targets of [free, limited]) await closedLoop(targets, connections, warmUpSeconds);
  for (let round = 0; round < rounds; round += 1) {
    const perSecond = new Map<Targets, number>();
    for (const targets of round % 2 === 0 ? [limited, free] : [free, limited]) {
      const before = await leasesOf(gateway);
      const done = await closedLoop(targets, connections, seconds);
      perSecond.set(targets, done.perSecond);
      if (targets !== limited) continue;
      leases += (await leasesOf(gateway)) - before;
      requests += done.requests;
    }
    ratios.push((perSecond.get(limited) ?? NaN) / (perSecond.get(free) ?? NaN));
    rates.push(perSecond.get(limited) ?? NaN);
  }
  return { ratio: median(ratios), perSecond: median(rates), leases: leases / requests };
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
    const first = await compare(gateway, [targetOf(gateway, ofLarge, 'ada')], one);
    const ofSmall = await tenantWith(gateway, policiesOf(small));
    const asUsers = (tenant: TenantAccess): Targets => {
      const rest = Array.from({ length: users - 1 }, (_, user) => targetOf(gateway, tenant, `user-${user}`));
      return [targetOf(gateway, tenant, 'ada'), ...rest];
    };
    const second = await compare(gateway, asUsers(ofSmall), asUsers(free));
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
  },
);

function rowOf({ perSecond, ratio, leases }: Compared, aim: number): string[] {
  return [figure(perSecond, 0), figure(ratio, 2), String(aim), figure(leases, 3)];
}
