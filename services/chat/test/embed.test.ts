import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { RpcClient } from '@gatehouse/grpc/client';
import { newId } from '@gatehouse/kit/ids';
import { AppError } from '@gatehouse/kit/errors';
import type { ChatServiceClient, EmbedResponse } from '@gatehouse/proto/chat/v1/chat';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { guardedUser } from './guarding.ts';
import { ChatHarness } from './chat-harness.ts';
import { groupPolicy } from './counting-policy.ts';

const agentId = newId();

let harness: ChatHarness;
let leaseBy: ChatHarness['leaseBy'];
let memory: RpcClient<ChatServiceClient>;
beforeAll(async () => {
  harness = await ChatHarness.start();
  ({ leaseBy } = harness);
  memory = await harness.peer('memory');
});
afterEach(() => {
  harness.simulator.setFault(null);
  harness.leaseBy = leaseBy;
});
afterAll(async () => harness.stop());

interface Ask {
  texts?: string[];
  agentId?: string;
  assertion?: string | undefined;
  peer?: RpcClient<ChatServiceClient>;
  deadlineMs?: number;
}

async function embed(tenantId: string, asked: Ask = {}): Promise<EmbedResponse> {
  const assertion =
    'assertion' in asked
      ? asked.assertion
      : await harness.identity.assertion({ tenantId, tenantSlug: 'acme', userId: 'ada' });
  return (asked.peer ?? memory).call(
    'embed',
    { texts: asked.texts ?? ['red fox', 'blue whale', 'red fox'], agentId: asked.agentId ?? agentId },
    { deadlineMs: asked.deadlineMs ?? 5_000, assertion },
  );
}

async function delegated(delegation: { tenantId: string; agentId?: string; userId?: string | null }) {
  const signer = await harness.identity.signer('memory');
  return signer.delegation({ agentId, userId: null, ...delegation });
}

const runsOf = (tenantId: string) => harness.endedRuns('tenant_id = $1', [tenantId]);

describe('Embed', () => {
  it('returns the vectors of the texts in their order, as one priced run of memory without texts and key', async () => {
    const tenantId = newId();
    const { model, embeddings } = await embed(tenantId);
    expect(model).toBe('embedder');
    const [one, two, three] = embeddings.map(({ values }) => values);
    expect([one?.length, two?.length]).toEqual([8, 8]);
    expect(three).toEqual(one);
    expect(two).not.toEqual(one);
    const runs = await runsOf(tenantId);
    expect(runs).toMatchObject([
      {
        operation: 'embeddings',
        channel: 'memory',
        status: 'ok',
        api_key_id: null,
        user_id: 'ada',
        agent_id: agentId,
        request_model: 'embedder',
        input_preview: null,
        output_preview: null,
        priced: true,
        price_source: 'catalogue',
        spans: [{ kind: 'embedding', status: 'ok', model: 'embedder' }],
      },
    ]);
    const [run] = runs;
    expect(run?.cost_pico).toBe(String((run?.input_tokens ?? 0) * 1_000_000));
    expect(JSON.stringify(runs)).not.toContain('red fox');
  });

  it('acts for a tenant and user that memory delegates, for the one agent of the delegation', async () => {
    const tenantId = newId();
    const assertion = await delegated({ tenantId, userId: 'grace' });
    await embed(newId(), { assertion });
    expect(await runsOf(tenantId)).toMatchObject([{ user_id: 'grace', agent_id: agentId, api_key_id: null }]);
    await expect(embed(tenantId, { assertion, agentId: newId() })).rejects.toMatchObject({
      code: 'caller_not_allowed',
    });
  });

  it('is refused without an identity, with a delegation of another service, and to other callers', async () => {
    const tenantId = newId();
    const webhook = await harness.identity.signer('webhook');
    const analytics = await harness.identity.signer('analytics');
    for (const assertion of [
      undefined,
      'nonsense',
      await webhook.delegation({ tenantId, agentId, userId: null }),
      await analytics.delegation({ tenantId, agentId, userId: null }),
      await (await harness.identity.signer('memory')).assertion(makePrincipal()),
    ])
      await expect(embed(tenantId, { assertion })).rejects.toMatchObject({ code: 'bad_gateway' });
    for (const caller of ['agent', 'tenant', 'edge', 'analytics'])
      await expect(embed(tenantId, { peer: await harness.peer(caller) })).rejects.toMatchObject({
        code: 'caller_not_allowed',
      });
    expect(await runsOf(tenantId)).toEqual([]);
  });

  it('is no way into RPCs that take no delegation of memory', async () => {
    const assertion = await delegated({ tenantId: newId() });
    const complete = { agent: agentId, callId: newId(), requestJson: '{"messages":[]}' };
    await expect(memory.call('complete', complete, { deadlineMs: 2_000, assertion })).rejects.toMatchObject({
      code: 'caller_not_allowed',
    });
  });

  it.each<[string, string[]]>([
    ['no text', []],
    ['65 texts', Array.from({ length: 65 }, () => 'x')],
    ['an empty text', ['x', '']],
    ['more than a mebibyte', ['x'.repeat(1_048_577)]],
  ])('rejects %s', async (_name, texts) => {
    await expect(embed(newId(), { texts })).rejects.toMatchObject({ code: 'invalid_value', param: 'texts' });
  });

  it('rejects an agent that is no id', async () => {
    await expect(embed(newId(), { agentId: 'support' })).rejects.toMatchObject({ param: 'agent_id' });
  });

  it('takes 64 texts', async () => {
    const texts = Array.from({ length: 64 }, (_, n) => `text ${n}`);
    expect((await embed(newId(), { texts })).embeddings).toHaveLength(64);
  });

  it('is within the limits and the budget of the tenant', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.REQUESTS, Resource.BUDGET] });
    await embed(tenantId);
    const headers = { 'x-should-retry': 'false' };
    for (const code of ['rate_limit_exceeded', 'insufficient_quota'] as const) {
      const fresh = newId();
      harness.settings.set(fresh, { limited: [Resource.REQUESTS, Resource.BUDGET] });
      harness.leaseBy = () => Promise.reject(new AppError(code, 'no', { headers }));
      await expect(embed(fresh)).rejects.toMatchObject({ code, status: 429, headers });
      expect(await runsOf(fresh)).toEqual([]);
    }
  });

  it('counts in policies of the groups of its user, who need not be in the directory', async () => {
    const [tenantId, group] = [newId(), { id: newId(), name: 'Berlin' }];
    const policy = groupPolicy(harness, group.id);
    harness.settings.set(tenantId, { hasUsers: true, actingUsers: 'known', policies: [policy] });
    harness.users.set(`${tenantId} ada`, { userId: 'ada', blocked: false, groups: [group] });
    await embed(tenantId);
    expect(harness.asks.filter(({ policyId }) => policyId === policy.id)).toMatchObject([
      { value: group.id, resource: Resource.REQUESTS },
    ]);
    expect(await runsOf(tenantId)).toMatchObject([{ user_id: 'ada', groups: ['Berlin'] }]);
    for (const userId of ['stranger', null])
      await embed(tenantId, { assertion: await delegated({ tenantId, userId }) });
    expect(await runsOf(tenantId)).toHaveLength(3);
  });

  it('is refused for a suspended tenant', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { status: 'suspended' });
    const assertion = await delegated({ tenantId });
    await expect(embed(tenantId, { assertion })).rejects.toMatchObject({ code: 'tenant_suspended' });
  });

  it('has no model for a tenant that may not use the one there is', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { allowedModels: { ids: ['small'] } });
    await expect(embed(tenantId)).rejects.toMatchObject({ code: 'embeddings_not_configured', status: 400 });
    harness.settings.set(tenantId, { allowedModels: { ids: ['embedder'] } });
  });

  it('retries, and reports the provider’s failure with its run', async () => {
    const tenantId = newId();
    harness.simulator.setFault({ status: 400, error: { message: 'too long' } });
    await expect(embed(tenantId)).rejects.toMatchObject({ code: 'provider_bad_request' });
    harness.simulator.setFault({ status: 503 });
    await expect(embed(tenantId, { deadlineMs: 10_000 })).rejects.toMatchObject({ code: 'provider_error' });
    const runs = await runsOf(tenantId);
    expect(runs.map(({ status, spans }) => [status, spans.length])).toEqual([
      ['error', 1],
      ['error', 3],
    ]);
  });

  it('gives the provider call up when the caller stops waiting', async () => {
    const tenantId = newId();
    harness.simulator.setFault({ silent: 'before_headers' });
    await expect(embed(tenantId, { deadlineMs: 400 })).rejects.toMatchObject({ code: 'service_timeout' });
    await eventually(async () =>
      expect(await runsOf(tenantId)).toMatchObject([{ status: 'cancelled', channel: 'memory' }]),
    );
  });
});

describe('a catalogue without an embedding model', () => {
  it('has no vectors', async () => {
    const bare = await ChatHarness.start({}, { embeddings: undefined });
    const peer = await bare.peer('memory');
    const assertion = await bare.identity.assertion();
    const asked = peer.call('embed', { texts: ['x'], agentId }, { deadlineMs: 2_000, assertion });
    await expect(asked).rejects.toMatchObject({ code: 'embeddings_not_configured' });
    await bare.stop();
  });
});

it('texts pass the guardrails of the tenant as those of earlier requests do', async () => {
  const texts = ['Write to ann.lee@gmail.com.'];
  for (const [action, placeholder] of [
    ['block', '[BLOCKED]'],
    ['mask', '[EMAIL]'],
  ] as const) {
    const { embeddings } = await embed(guardedUser(harness, { action }).tenantId, { texts });
    expect(embeddings).toHaveLength(1);
    expect(String(harness.simulator.requests.at(-1)?.raw_bytes)).toContain(`"Write to ${placeholder}."`);
  }
});
