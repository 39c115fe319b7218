import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { RpcClient } from '@gatehouse/grpc/client';
import type { Delegation } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import type { ChatServiceClient, CompleteRequest, CompleteResponse } from '@gatehouse/proto/chat/v1/chat';
import { eventually } from '@gatehouse/test/eventually';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import { makePassage } from './memory-stand-in.ts';

let harness: ChatHarness;
let webhook: RpcClient<ChatServiceClient>;
const agent = makeAgent({
  key: 'pirate',
  systemPrompt: 'Talk like a pirate.',
  parametersJson: '{"temperature":0.1,"stream":true,"n":3}',
  // The settings replace the members of release 0.3.0.
  memory: { enabled: false, recallLimit: 9, write: false, analyser: 'simple', minScore: 1 },
  settingsJson: JSON.stringify({
    memory: { enabled: true, recall_limit: 3, write: true, analyser: 'english', min_score: 0.35, later: 1 },
    tools: null,
  }),
});

beforeAll(async () => {
  harness = await ChatHarness.start();
  webhook = await harness.peer('webhook');
  harness.agents.set(agent.id, agent);
  harness.memory.passages = [makePassage()];
});
afterAll(() => harness.stop());

async function ask(
  fields: Partial<CompleteRequest> = {},
  delegation: Partial<Delegation> = {},
): Promise<CompleteResponse> {
  const signer = await harness.identity.signer('webhook');
  const of = { tenantId: newId(), agentId: agent.id, userId: null, ...delegation };
  const request = {
    agent: agent.id,
    callId: newId(),
    requestJson: '{"messages":[{"role":"user","content":"How long can I return it?"}]}',
    channel: 'webhook',
    ...fields,
  };
  return webhook.call('complete', request, { deadlineMs: 10_000, assertion: await signer.delegation(of) });
}

it('answers for webhook with the prompt and the memory of the agent, as a run of its own', async () => {
  const tenantId = newId();
  const { completionJson, runId } = await ask({ sessionId: 's-1' }, { tenantId, userId: 'ada' });
  expect(JSON.parse(completionJson)).toMatchObject({ object: 'chat.completion' });
  const sent = JSON.parse(String(harness.simulator.requests.at(-1)?.raw_bytes)) as Record<string, unknown>;
  expect(sent).toMatchObject({ temperature: 0.1 });
  expect(sent).not.toHaveProperty('stream');
  expect(sent).not.toHaveProperty('n');
  const messages = sent['messages'] as { role: string; content: string }[];
  expect(messages[0]).toEqual({ role: 'system', content: 'Talk like a pirate.' });
  expect(JSON.stringify(messages)).toContain('Customers may return an item within 30 days.');
  const recalled = harness.memory.recalls.at(-1);
  expect(recalled?.context.delegation).toEqual({ tenantId, agentId: agent.id, userId: 'ada' });
  expect(await harness.endedRun(runId)).toMatchObject({
    ...{ channel: 'webhook', api_key_id: null, user_id: 'ada', session_id: 's-1', agent_id: agent.id },
    input_preview: 'How long can I return it?',
  });
  await eventually(() => expect(harness.memory.turns.at(-1)).toMatchObject({ runId, userId: 'ada' }));
});

it('reads and writes the memory of no user where several people read the answer', async () => {
  const tenantId = newId();
  const { runId } = await ask({ group: true }, { tenantId, userId: 'ada' });
  const recalled = harness.memory.recalls.at(-1);
  expect(recalled?.context.delegation).toEqual({ tenantId, agentId: agent.id, userId: null });
  expect(await harness.endedRun(runId)).toMatchObject({ user_id: 'ada' });
  expect(harness.memory.turns.filter((turn) => turn.runId === runId)).toEqual([]);
});

it('answers a repeat of the call from what is stored', async () => {
  const call = { callId: newId() };
  const tenantId = newId();
  const first = await ask(call, { tenantId });
  const calls = harness.simulator.requests.length;
  expect(await ask(call, { tenantId })).toEqual(first);
  expect(harness.simulator.requests).toHaveLength(calls);
});

it.each<[string, Partial<CompleteRequest>, Partial<Delegation>]>([
  ['a delegation for another agent', {}, { agentId: newId() }],
  ['an agent that the delegation does not name', { agent: newId() }, {}],
])('is refused with %s', async (_what, fields, delegation) => {
  await expect(ask(fields, delegation)).rejects.toMatchObject({ code: 'caller_not_allowed' });
});

it('is refused without a channel, with one that is no word, and with that of memory', async () => {
  for (const channel of ['', 'Web hook', 'memory'])
    await expect(ask({ channel })).rejects.toMatchObject({ code: 'invalid_value', param: 'channel' });
});

it('takes no delegation from memory, and no assertion from webhook', async () => {
  const delegation = { tenantId: newId(), agentId: agent.id, userId: null };
  const request = { agent: agent.id, callId: newId(), requestJson: '{"messages":[]}', channel: 'webhook' };
  for (const [caller, assertion] of [
    ['memory', await (await harness.identity.signer('memory')).delegation(delegation)],
    ['webhook', await harness.identity.assertion()],
  ] as const)
    await expect(
      (await harness.peer(caller)).call('complete', request, { deadlineMs: 2_000, assertion }),
    ).rejects.toMatchObject({ code: 'caller_not_allowed' });
});

describe('an agent with tools', () => {
  const schemaJson = '{"type":"object"}';
  const tool = { schemaJson, description: '', serverId: newId(), timeoutMs: 5_000, executor: 'agent' };
  const acting = makeAgent({ key: 'acting', tools: { maxIterations: 5 } });
  const called: string[] = [];
  const tenantId = newId();
  const call = (callId: string, name: string, faults: object[] = []) => {
    const messages = [{ role: 'user', content: 'Do it.' }];
    const x_simulator = { id: callId, tool_calls: [{ name, arguments: {} }], attempts: faults };
    const requestJson = JSON.stringify({ messages, x_simulator });
    return ask({ agent: acting.id, callId, requestJson }, { tenantId, agentId: acting.id });
  };
  /** No answer of the provider to what the tool returned. */
  const noAnswer = [{}, { status: 400 }];

  beforeAll(() => {
    harness.agents.set(acting.id, acting);
    harness.toolLists.tools = [
      { ...tool, name: 's__read', tool: 'read', repeatable: true },
      { ...tool, name: 's__pay', tool: 'pay', repeatable: false },
    ];
    harness.callTool = (name) => {
      called.push(name);
      return Promise.resolve({ content: `${name} was called`, outcome: 'ok' });
    };
  });
  beforeEach(() => {
    called.splice(0);
  });

  it('calls them, and a repeat of the call gets the same answer', async () => {
    const callId = newId();
    const answer = await call(callId, 's__pay');
    expect(answer.completionJson).toContain('pay was called');
    expect(await call(callId, 's__pay')).toEqual(answer);
    expect(called).toEqual(['pay']);
    expect((await harness.endedRun(answer.runId)).tool_calls).toBe(1);
  });

  it('answers without those that do not exist, and shows them as failed steps of its run', async () => {
    harness.toolLists.missing = ['gone', 'mail/send'];
    const answer = await call(newId(), 's__read');
    expect(called).toEqual(['read']);
    const { tool_calls: calls, tools } = await harness.endedRun(answer.runId);
    expect([calls, tools?.map(({ name, outcome }) => [name, outcome])]).toEqual([
      1,
      [
        ['gone', 'unknown_mcp_server'],
        ['mail/send', 'unknown_mcp_server'],
        ['s__read', 'ok'],
      ],
    ]);
    const { tools: others } = harness.toolLists;
    harness.toolLists.tools = [];
    const alone = await call(newId(), 's__read');
    expect((await harness.endedRun(alone.runId)).tools).toHaveLength(2);
    Object.assign(harness.toolLists, { tools: others, missing: [] });
  });

  it('has their definitions once for a revision, and new ones right after a change', async () => {
    const { asked } = harness.toolLists;
    await call(newId(), 's__read');
    asked.splice(0);
    await call(newId(), 's__read');
    expect(asked).toEqual([true]);
    const { tools } = harness.toolLists;
    harness.toolLists.tools = [...tools, { ...tool, name: 's__new', tool: 'new', repeatable: true }];
    await call(newId(), 's__new');
    expect(called).toEqual(['read', 'read', 'new']);
    expect(asked).toEqual([true, true, false]);
    harness.toolLists.tools = tools;
    expect((await call(newId(), 's__new')).completionJson).toContain('s__new');
    expect(called).toEqual(['read', 'read', 'new']);
    expect(asked).toEqual([true, true, false, true]);
  });

  it('is asked again after a failure if its tools can be called again', async () => {
    const callId = newId();
    await expect(call(callId, 's__read', noAnswer)).rejects.toMatchObject({ code: 'provider_bad_request' });
    expect((await call(callId, 's__read', noAnswer)).completionJson).toContain('read was called');
    expect(called).toEqual(['read', 'read']);
  });

  it('fails rather than calls a tool twice that must not be', async () => {
    const callId = newId();
    for (let attempt = 0; attempt < 3; attempt += 1)
      await expect(call(callId, 's__pay', noAnswer)).rejects.toMatchObject({ code: 'run_not_repeatable' });
    expect(called).toEqual(['pay']);
  });

  it('fails too when its process died after the call', async () => {
    const callId = newId();
    await call(callId, 's__pay');
    await harness.rows(
      `update chat.completions set answer = null, acted = true, instance_id = gen_random_uuid()
       where call_id = $1`,
      [callId],
    );
    await expect(call(callId, 's__pay')).rejects.toMatchObject({ code: 'run_not_repeatable' });
    expect(called).toEqual(['pay']);
  });
});
