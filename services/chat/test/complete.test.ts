import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Principal } from '@gatehouse/identity/principal';
import type { RpcClient } from '@gatehouse/grpc/client';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { ChatServiceClient, CompleteResponse } from '@gatehouse/proto/chat/v1/chat';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import { groupPolicy } from './counting-policy.ts';
import { guardedUser } from './guarding.ts';

let harness: ChatHarness;
let memory: RpcClient<ChatServiceClient>;
beforeAll(async () => {
  harness = await ChatHarness.start();
  memory = await harness.peer('memory');
  harness.agents.set(
    'extractor',
    makeAgent({
      key: 'extractor',
      model: 'priced',
      systemPrompt: 'Talk like a pirate.',
      parametersJson: '{"temperature":0.1,"tools":[{"type":"function","function":{"name":"f"}}],"n":3}',
      memory: { enabled: true, recallLimit: 5, write: true, analyser: 'english', minScore: 0.35 },
    }),
  );
});
afterEach(() => harness.simulator.setFault(null));
afterAll(async () => harness.stop());

const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const requestJson = JSON.stringify({
  messages: [{ role: 'user', content: 'Extract the name: Ada.' }],
  response_format: { type: 'json_schema', json_schema: { name: 'entity', strict: true, schema } },
});

interface Call {
  agent?: string;
  callId?: string;
  requestJson?: string;
  principal?: Principal;
  deadlineMs?: number;
}

const ada = (): Principal => makePrincipal({ userId: 'ada' });

async function complete({
  principal = ada(),
  deadlineMs = 5_000,
  ...asked
}: Call = {}): Promise<CompleteResponse> {
  const request = { agent: 'extractor', callId: newId(), requestJson, ...asked };
  return memory.call('complete', request, {
    deadlineMs,
    assertion: await harness.identity.assertion(principal),
  });
}

const calls = (): number => harness.simulator.requests.length;

function lastBody(): Record<string, unknown> {
  return JSON.parse(
    (harness.simulator.requests.at(-1)?.raw_bytes ?? Buffer.alloc(0)).toString('utf8'),
  ) as Record<string, unknown>;
}

describe('Complete', () => {
  it('answers with the agent’s model and parameters, without its prompt, memory, tools and previews', async () => {
    const principal = ada();
    const answer = await complete({ principal });
    const { choices } = JSON.parse(answer.completionJson) as { choices: { message: { content: string } }[] };
    expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({ name: expect.any(String) });
    expect(lastBody()).toEqual({
      ...(JSON.parse(requestJson) as object),
      model: 'priced',
      temperature: 0.1,
    });
    expect(await harness.endedRun(answer.runId)).toMatchObject({
      tenant_id: principal.tenantId,
      trace_id: answer.traceId,
      operation: 'chat',
      channel: 'memory',
      api_key_id: null,
      user_id: 'ada',
      agent_id: harness.agents.get('extractor')?.id,
      request_model: 'agent:extractor',
      status: 'ok',
      input_preview: null,
      output_preview: null,
      priced: true,
    });
    expect([harness.memory.recalls, harness.memory.turns]).toEqual([[], []]);
  });

  it('counts in policies of the groups of its user, who need not be in the directory', async () => {
    const [tenantId, group] = [newId(), { id: newId(), name: 'Berlin' }];
    const principal = makePrincipal({ tenantId, userId: 'ada' });
    const policy = groupPolicy(harness, group.id);
    harness.settings.set(tenantId, { hasUsers: true, actingUsers: 'known', policies: [policy] });
    harness.users.set(`${tenantId} ada`, { userId: 'ada', blocked: false, groups: [group] });
    const { runId } = await complete({ principal });
    expect(harness.asks.filter(({ policyId }) => policyId === policy.id)).toMatchObject([
      { value: group.id, resource: Resource.REQUESTS },
    ]);
    expect(await harness.endedRun(runId)).toMatchObject({ user_id: 'ada', groups: ['Berlin'] });
    for (const userId of ['stranger', null]) await complete({ principal: { ...principal, userId } });
  });

  it('has texts of earlier requests: a guardrail that blocks replaces its matches', async () => {
    const messages = [{ role: 'user', content: 'Extract the name: ann.lee@gmail.com.' }];
    await complete({
      requestJson: JSON.stringify({ ...(JSON.parse(requestJson) as object), messages }),
      principal: makePrincipal(guardedUser(harness, {})),
    });
    expect(lastBody()).toMatchObject({ messages: [{ content: 'Extract the name: [BLOCKED].' }] });
  });

  it('gives a repeat the stored answer, which is encrypted, for 24 hours, instead of a second run', async () => {
    const [principal, callId] = [ada(), newId()];
    const first = await complete({ principal, callId });
    const before = calls();
    expect(await complete({ principal, callId })).toEqual(first);
    expect(calls()).toBe(before);
    const [stored] = await harness.rows(
      `select answer, user_id, extract(epoch from expires_at - now()) / 3600 as hours
       from chat.completions where call_id = $1`,
      [callId],
    );
    expect((stored?.['answer'] as Buffer).includes('completion')).toBe(false);
    expect(Number(stored?.['hours'])).toBeCloseTo(24, 1);
    await harness.rows('update chat.completions set expires_at = now() where call_id = $1', [callId]);
    expect((await complete({ principal, callId })).runId).not.toBe(first.runId);
  });

  it('takes one call id for another in each tenant, and rejects it for another request', async () => {
    const [principal, callId] = [ada(), newId()];
    const first = await complete({ principal, callId });
    expect((await complete({ callId })).runId).not.toBe(first.runId);
    const other = JSON.stringify({ messages: [{ role: 'user', content: 'Other.' }] });
    for (const change of [{ requestJson: other }, { principal: { ...principal, userId: 'grace' } }])
      await expect(complete({ principal, callId, ...change })).rejects.toMatchObject({
        code: 'idempotency_key_reused',
      });
  });

  it('has one run for calls at the same time', async () => {
    const [principal, callId] = [ada(), newId()];
    harness.simulator.setFault({ delay_ms: 300 });
    const before = calls();
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => complete({ principal, callId })));
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(failed.map(({ reason }) => (reason as { code: string }).code)).toEqual([
      'idempotency_in_progress',
      'idempotency_in_progress',
    ]);
    expect(calls()).toBe(before + 1);
  });

  it('goes on when its caller stops waiting, whose repeat gets the answer', async () => {
    const [principal, callId] = [ada(), newId()];
    harness.simulator.setFault({ delay_ms: 700 });
    const before = calls();
    await expect(complete({ principal, callId, deadlineMs: 400 })).rejects.toMatchObject({
      code: 'service_timeout',
    });
    await eventually(async () => expect((await complete({ principal, callId })).runId).not.toBe(''));
    expect(calls()).toBe(before + 1);
  });

  it('can be repeated after a failure, and after the process that worked on it died', async () => {
    const [principal, callId] = [ada(), newId()];
    harness.simulator.setFault({ status: 400, error: { message: 'no' } });
    await expect(complete({ principal, callId })).rejects.toMatchObject({ code: 'provider_bad_request' });
    harness.simulator.setFault(null);
    await complete({ principal, callId });
    await harness.rows('update chat.completions set answer = null, instance_id = $2 where call_id = $1', [
      callId,
      newId(),
    ]);
    await complete({ principal, callId });
  });

  it.each<[string, Call, string]>([
    ['a call id that is none', { callId: 'x' }, 'call_id'],
    ['no JSON', { requestJson: '{"messages":' }, 'request_json'],
    ['a list', { requestJson: '[]' }, 'request_json'],
    ['no messages', { requestJson: '{ }' }, 'messages'],
    ['a model', { requestJson: '{"model":"x","messages":[]}' }, 'model'],
    ['a stream', { requestJson: '{"stream":true,"messages":[]}' }, 'stream'],
    ['tools', { requestJson: '{"tools":[],"messages":[]}' }, 'tools'],
    ['several answers', { requestJson: '{"n":2,"messages":[]}' }, 'n'],
    ['an unknown agent', { agent: 'nobody' }, 'model'],
  ])('rejects %s', async (_name, call, param) => {
    const before = calls();
    await expect(complete(call)).rejects.toMatchObject({ param });
    expect(calls()).toBe(before);
    const { callId } = { callId: newId(), ...call };
    if (callId !== 'x')
      expect(await harness.rows('select from chat.completions where call_id = $1', [callId])).toEqual([]);
  });

  it('rejects a request that is none also while the agent service is away', async () => {
    harness.agentsAnswer = Promise.reject(new AppError('service_unavailable', 'away'));
    harness.agentsAnswer.catch(() => undefined);
    const call = { agent: 'not-yet-seen', callId: newId() };
    try {
      await expect(complete(call)).rejects.toMatchObject({ code: 'service_unavailable' });
      await expect(complete({ ...call, requestJson: '[]' })).rejects.toMatchObject({
        ...{ code: 'invalid_type', param: 'request_json' },
      });
    } finally {
      harness.agentsAnswer = Promise.resolve();
    }
  });

  it('is for memory with an assertion of the edge, and for no other service with one', async () => {
    const request = { agent: 'extractor', callId: newId(), requestJson };
    for (const caller of ['agent', 'tenant', 'webhook', 'analytics']) {
      const assertion = await harness.identity.assertion();
      const call = (await harness.peer(caller)).call('complete', request, { deadlineMs: 2_000, assertion });
      await expect(call).rejects.toMatchObject({ code: 'caller_not_allowed' });
    }
    await expect(memory.call('complete', request, { deadlineMs: 2_000 })).rejects.toMatchObject({
      code: 'bad_gateway',
    });
  });
});
