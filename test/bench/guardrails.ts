import { expectSuccess, GatewayClient } from '@gatehouse/local/gateway-client';
import { makeTenant, type TenantAccess } from '@gatehouse/test/tenants';
import { withGateway } from './alone.ts';
import type { Gateway } from './contest.ts';
import { percentile } from './database.ts';
import { pairsOf } from './limited.ts';
import { closedLoop, pacedStreams, type Target } from './load.ts';
import { prose } from './prose.ts';
import { figure, median, print } from './table.ts';

/**
 * `make bench`: requests with the guardrails `pii`, `secrets` and 50 patterns on all their texts, in turns with those of a
 * tenant without any, through one process: prompts and answers of a kilobyte, and paced streams at once. BENCH_ROUNDS (3)
 * and BENCH_SECONDS (4) set its length.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 4);
const connections = 64;
const warmUpSeconds = 20;
const paced = { streams: 128, chunks: 200, chunkDelayMs: 40 };
const aims = { ratio: 0.8, firstToken: 1.2 };

const words = Array.from({ length: 30 }, (_, index) => `project bluebird ${index}`);
const patterns = Array.from({ length: 20 }, (_, index) => ({
  name: `ticket-${index}`,
  regex: String.raw`\b[A-Z]{3}${index}-\d{4,8}\b`,
}));
const guardrails = [
  { name: 'personal', action: 'mask', check: { type: 'pii' } },
  { name: 'keys', action: 'mask', check: { type: 'secrets' } },
  { name: 'projects', action: 'block', check: { type: 'patterns', words, patterns } },
];

async function guardedTenant({ target, credentials }: Gateway): Promise<TenantAccess> {
  const { url } = target;
  const tenant = await makeTenant({ url, ownerKey: credentials.owner_key });
  const client = new GatewayClient(url);
  for (const guardrail of guardrails)
    expectSuccess(
      await client.call(tenant.adminKey, 'POST', '/v1/guardrails', guardrail),
      'making a guardrail',
    );
  return tenant;
}

const targetOf = ({ target }: Gateway, { userKey }: TenantAccess): Target => ({
  ...target,
  headers: { authorization: `Bearer ${userKey}` },
  text: JSON.stringify({ model: 'prose', messages: [{ role: 'user', content: prose }] }),
});

async function printRequests(guarded: Target, free: Target): Promise<void> {
  const ratios = await pairsOf(guarded, free, { pairs: rounds, seconds });
  const { perSecond } = await closedLoop(guarded, connections, seconds);
  print([
    ['prompts and answers of 1 kB', 'requests/s', ': without', 'aim'],
    ['with guardrails', figure(perSecond, 0), figure(median(ratios), 2), String(aims.ratio)],
  ]);
}

async function printStreams(guarded: Target, free: Target): Promise<void> {
  const firsts: number[] = [];
  const late: number[] = [];
  let broken = 0;
  for (let round = 0; round < rounds; round += 1) {
    const results = new Map<Target, Awaited<ReturnType<typeof pacedStreams>>>();
    for (const target of round % 2 === 0 ? [guarded, free] : [free, guarded])
      results.set(target, await pacedStreams(target, paced));
    const [one, other] = [results.get(guarded), results.get(free)];
    if (one === undefined || other === undefined) continue;
    firsts.push(one.p50 / other.p50);
    late.push(percentile(one.late, 0.5) - percentile(other.late, 0.5));
    broken += one.broken + other.broken;
  }
  print([
    [`${paced.streams} streams`, 'first token : without', 'aim', 'frames later p50, ms', 'aim', 'broken'],
    [
      `a frame each ${paced.chunkDelayMs} ms`,
      ...[figure(median(firsts), 2), String(aims.firstToken)],
      ...[figure(median(late), 1), String(paced.chunkDelayMs), String(broken)],
    ],
  ]);
}

function catalogue(url: string): object {
  const price = { input_per_mtok: '1', output_per_mtok: '1' };
  return {
    providers: [{ name: 'bench', kind: 'openai', base_url: `${url}/v1` }],
    models: ['bench', 'prose'].map((id) => ({ id, provider: 'bench', price })),
  };
}

await withGateway(
  {
    ...{ provider: 'test/bench/provider.ts', catalogue, sharesOneCore: false },
    load: 'guardrails on all texts of each request',
  },
  async (gateway) => {
    const guarded = targetOf(gateway, await guardedTenant(gateway));
    const { url } = gateway.target;
    const free = targetOf(gateway, await makeTenant({ url, ownerKey: gateway.credentials.owner_key }));
    for (const target of [free, guarded]) await closedLoop(target, connections, warmUpSeconds);
    await printRequests(guarded, free);
    await printStreams(guarded, free);
  },
);
