import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { groupEntry } from '@gatehouse/kit/selection-index';
import type { Policy } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { makeAgent } from './chat-harness.ts';
import { countingPolicy } from './counting-policy.ts';
import { LeasedCounters } from './leased-counters.ts';
import { whole, type ReceivedRequest, type Script } from './scripted-provider.ts';
import { begun, silent, StopGround, type Sent } from './stop-ground.ts';
import { completion, type Fields } from './translated-answers.ts';

/** Budgets of policies over whole runs, before two replicas and a tenant service with exact counters. */

let ground: StopGround;
let counters: LeasedCounters;
let usual: StopGround['harness']['leaseBy'];
beforeAll(async () => {
  ground = await StopGround.start();
  usual = ground.harness.leaseBy;
});
afterAll(() => ground.close());
beforeEach(() => {
  ground.admin = makePrincipal();
});

const team = { id: newId(), name: 'team' };

/** Gives the tenant a policy with this budget for each value, and users of a team. */
function limit(usdPico: bigint, fields: Partial<Policy>): void {
  counters = new LeasedCounters(usdPico, ground.harness.settlements);
  const policy = { ...countingPolicy(ground.harness), name: 'cap', enforce: true, ...fields };
  const tenantId = ground.admin.tenantId ?? '';
  ground.harness.leaseBy = (request) =>
    request.tenantId === tenantId ? Promise.resolve(counters.lease(request)) : usual(request);
  ground.harness.settings.set(tenantId, { hasUsers: true, policies: [policy] });
  for (const userId of ['ada', 'bob'])
    ground.harness.users.set(`${tenantId} ${userId}`, { userId, blocked: false, groups: [team] });
}

/** The price of an output token. */
const token = 2_000_000n;
const maxTokens = 900;
/** The cost of the longest answer without its prompt, and what a request reserves for a prompt at most. */
const answer = BigInt(maxTokens) * token;
const prompt = 1_000_000_000n;

/** An answer as long as it may be. */
const longest =
  (message: (request: ReceivedRequest) => Fields, finish: string): Script =>
  (request) => {
    const { max_tokens: most } = JSON.parse(request.body.toString()) as { max_tokens: number };
    const usage = { prompt_tokens: 10, completion_tokens: most, total_tokens: 10 + most };
    whole({ ...completion(message(request), finish), usage })(request);
  };
const text = longest(() => ({ content: 'x' }), 'length');

const send = (principal: Partial<Principal>, sent: Sent = {}) =>
  ground.send({
    ...sent,
    principal: { ...ground.admin, ...principal },
    fields: { stream: false, max_tokens: maxTokens, ...sent.fields },
  });

/** The statuses of requests up to the first one that is refused. */
async function untilRefused(request: (index: number) => Promise<Response>): Promise<number[]> {
  const statuses: number[] = [];
  do {
    const response = await request(statuses.length);
    await response.arrayBuffer();
    statuses.push(response.status);
  } while (statuses.at(-1) === 200 && statuses.length < 20);
  return statuses;
}

const isSpent = { error: { code: 'insufficient_quota', param: 'policy:cap' } };

describe('a budget of a policy', () => {
  it('ends the run of an agent that calls tools in a loop', async () => {
    const most = 4n * answer;
    limit(most, { per: 'agent' });
    const agent = makeAgent({ key: `agent-${newId()}`, model: 'gpt', tools: { maxIterations: 50 } });
    ground.harness.agents.set(agent.key, agent);
    ground.harness.toolLists.tools = [
      {
        ...{ name: 'lookup', description: 'Looks up.', schemaJson: '{"type":"object"}', tool: 'lookup' },
        ...{ serverId: 's', timeoutMs: 60_000, executor: 'agent', repeatable: true },
      },
    ];
    const call = (number: number): Fields => ({
      ...{ index: 0, id: `call_${number}`, type: 'function' },
      function: { name: 'lookup', arguments: JSON.stringify({ number }) },
    });
    const loop = longest(() => ({ tool_calls: [call(ground.provider.received.length)] }), 'tool_calls');
    ground.provider.answer(...Array.from({ length: 50 }, () => loop));
    const response = await send({ userId: 'ada' }, { fields: { model: `agent:${agent.key}` } });
    expect([response.status, await response.json()]).toMatchObject([429, isSpent]);
    expect(ground.provider.received.length).toBeGreaterThan(2);
    await eventually(() => expect(counters.costs[0]).toBeGreaterThan(2n * answer));
    expect(counters.costs[0]).toBeLessThanOrEqual(most);
    expect(await ground.harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'error', error_type: 'insufficient_quota' },
    });
  });

  it('is one for all agents, sessions and keys by which a user acts', async () => {
    const most = 3n * answer;
    limit(most, { per: 'user' });
    ground.provider.answer(...Array.from({ length: 50 }, () => text));
    const agents = Array.from({ length: 8 }, (_, index) =>
      makeAgent({ key: `agent-${newId()}-${index}`, model: 'gpt' }),
    );
    for (const agent of agents) ground.harness.agents.set(agent.key, agent);
    const request = (index: number) => {
      const [model, url] = [
        `agent:${agents[index % 8]?.key}`,
        index % 2 === 0 ? ground.harness.url : ground.second,
      ];
      return send({ userId: 'ada', keyId: newId() }, { session: `s${index}`, url, fields: { model } });
    };
    const atOnce = await Promise.all(agents.map(async (_agent, index) => (await request(index)).status));
    expect(new Set(atOnce)).toEqual(new Set([200, 429]));
    expect((await untilRefused((index) => request(index + 8))).at(-1)).toBe(429);
    await eventually(() => expect(counters.costs[0]).toBeGreaterThan(2n * answer));
    expect(counters.costs).toHaveLength(1);
    expect(counters.costs[0]).toBeLessThanOrEqual(most);
  });

  it('of each user in a team shuts out no other member', async () => {
    limit(2n * answer, { per: 'user', groups: [groupEntry(team.id)] });
    ground.provider.answer(...Array.from({ length: 50 }, () => text));
    expect((await untilRefused(() => send({ userId: 'ada' }))).at(-1)).toBe(429);
    expect((await send({ userId: 'bob' })).status).toBe(200);
    const again = await send({ userId: 'ada' });
    expect([again.status, await again.json()]).toMatchObject([429, isSpent]);
    await eventually(() => expect(counters.costs.filter((cost) => cost > 0n)).toHaveLength(2));
  });

  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  it.each<[string, Script, (open: () => Promise<Response>) => Promise<unknown>]>([
    [
      'an error of the provider',
      whole({ error: { message: 'No.' } }, 500),
      async (open) => (await open()).text(),
    ],
    ['an answer that cannot be read', whole('<html>'), async (open) => (await open()).text()],
    [
      'a stream that breaks off',
      ({ response }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write((begun['chat'] ?? []).join(''), () => response.destroy());
      },
      async (open) => (await open()).text(),
    ],
    ['a client that leaves', silent(), async (open) => (await open()).body?.cancel()],
    [
      'a stop',
      silent(),
      async (open) => {
        const response = await open();
        await ground.stopped({ session_id: 'ends', hold_seconds: 0 });
        return response.text();
      },
    ],
  ])('holds nothing for a call that ended by %s', async (_end, script, finish) => {
    // Two such requests don't fit.
    limit(answer + prompt, { per: 'user' });
    ground.provider.answer(script, whole({ ...completion({ content: 'x' }), usage }));
    await finish(() => send({ userId: 'ada' }, { session: 'ends', fields: { stream: true } }));
    const next = await send({ userId: 'ada' });
    expect([next.status, next.headers.get('x-gateway-max-tokens')]).toEqual([200, null]);
  });
});
