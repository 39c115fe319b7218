import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { makeAgent } from './chat-harness.ts';
import { whole } from './scripted-provider.ts';
import { begun, dialects, isOpen, messages, silent, StopGround, text } from './stop-ground.ts';
import { completion, type Fields } from './translated-answers.ts';

let ground: StopGround;
beforeAll(async () => {
  ground = await StopGround.start();
});
afterAll(() => ground.close());
beforeEach(() => {
  ground.admin = makePrincipal();
});

describe('a stream on another replica', () => {
  it.each(dialects)('of %s ends with the error of its dialect, and its usage so far', async (dialect) => {
    ground.provider.answer(silent(begun[dialect]), silent(begun[dialect]));
    const { runId, rest, call } = await ground.stream({ dialect, session: 'loops' });
    const other = await ground.stream({ dialect, session: 'other' });
    await ground.stopped({ session_id: 'loops', reason: 'Loops.' });
    const last = await rest;
    expect(last).toContain('The run was stopped.');
    expect(last).toContain(
      dialect === 'gemini'
        ? 'PERMISSION_DENIED'
        : dialect === 'messages'
          ? 'permission_error'
          : 'run_stopped',
    );
    expect(last).not.toContain('[DONE]');
    expect(await ground.harness.endedRun(runId)).toMatchObject({
      ...{ status: 'cancelled', error_type: 'stopped', error_message: 'The run was stopped.' },
      ...{ usage_estimated: true, session_id: 'loops', output_preview: text },
      spans: [{ status: 'cancelled', error_code: 'stopped' }],
    });
    await eventually(() => expect(isOpen(call)).toBe(false));
    expect(isOpen(other.call)).toBe(true);
    await ground.stopped({ run_id: other.runId, hold_seconds: 0 });
    await other.rest;
  });

  it.each<[string, (at: { runId: string; agentId: string }) => Fields]>([
    ['run', ({ runId }) => ({ run_id: runId })],
    ['user', () => ({ user_id: 'ada' })],
    ['agent', ({ agentId }) => ({ agent_id: agentId })],
    ['API key', () => ({ api_key_id: ground.admin.keyId })],
  ])('ends by the name of its %s, and others go on', async (_what, named) => {
    const agent = makeAgent({ key: `agent-${newId()}`, model: 'gpt' });
    ground.harness.agents.set(agent.key, agent);
    ground.provider.answer(...Array.from({ length: 3 }, () => silent()));
    const mine = await ground.stream({
      principal: { ...ground.admin, userId: 'ada' },
      fields: { model: `agent:${agent.key}` },
    });
    const others = [
      await ground.stream({ principal: { ...ground.admin, userId: 'bob', keyId: newId() } }),
      // Another tenant, with the same names.
      await ground.stream({ principal: { ...makePrincipal(), userId: 'ada', keyId: ground.admin.keyId } }),
    ];
    await ground.stopped(named({ runId: mine.runId, agentId: agent.id }));
    expect(await mine.rest).toContain('The run was stopped.');
    expect(others.map(({ call }) => isOpen(call))).toEqual([true, true]);
    for (const { call, rest } of others) {
      call.response.destroy();
      expect(await rest).not.toContain('The run was stopped.');
    }
  });
});

describe('a request after a stop', () => {
  it.each(dialects)('of %s is refused on every replica, and is not sent again', async (dialect) => {
    await ground.stopped({ session_id: 'loops' });
    for (const url of [ground.harness.url, ground.second])
      await eventually(async () => {
        const response = await ground.refused({ dialect, session: 'loops', url });
        const body = await response.text();
        expect([response.status, response.headers.get('x-should-retry')]).toEqual([403, 'false']);
        expect(body).toMatch(/The runs of this session are stopped until 20\d\d-/);
      });
    ground.provider.answer(whole(completion({ content: 'x' })));
    const free = await ground.send({ session: 'other', fields: { stream: false } });
    expect(free.status).toBe(200);
  });

  it('has the code of the stop', async () => {
    await ground.stopped({ user_id: 'ada' });
    const response = await ground.send({
      principal: { ...ground.admin, userId: 'ada' },
      url: ground.harness.url,
    });
    expect(await response.json()).toMatchObject({
      error: { type: 'permission_error', code: 'run_stopped', param: null },
    });
  });

  it('is refused while its user has a batch to start, too', async () => {
    await ground.stopped({ api_key_id: ground.admin.keyId });
    const body = { requests: [{ custom_id: 'a', params: { model: 'claude', max_tokens: 9, messages } }] };
    const headers = { 'x-gatehouse-dialect': 'messages' };
    const response = await ground.harness.post('/v1/messages/batches', body, {
      principal: ground.admin,
      headers,
    });
    expect([response.status, await response.text()]).toEqual([
      403,
      expect.stringContaining('The runs of this API key'),
    ]);
  });

  it('is served again once the hold is over, or where there was no hold', async () => {
    ground.provider.answer(
      silent(),
      whole(completion({ content: 'x' })),
      whole(completion({ content: 'y' })),
    );
    const open = await ground.stream({ session: 'loops' });
    await ground.stopped({ session_id: 'loops', hold_seconds: 0 });
    expect(await open.rest).toContain('The run was stopped.');
    const ask = () => ground.send({ session: 'loops', fields: { stream: false } });
    expect((await ask()).status).toBe(200);
    await ground.stopped({ session_id: 'loops', hold_seconds: 1 });
    await eventually(async () => expect((await ask()).status).toBe(200));
  });

  it('of the session of a stopped run is refused to its user, and no other', async () => {
    ground.provider.answer(silent(), whole(completion({ content: 'x' })));
    const ada = { ...ground.admin, userId: 'ada' };
    const open = await ground.stream({ principal: ada, session: 'shared' });
    await ground.stopped({ run_id: open.runId });
    await open.rest;
    expect((await ground.send({ principal: ada, session: 'shared' })).status).toBe(403);
    const bob = await ground.send({
      principal: { ...ground.admin, userId: 'bob' },
      session: 'shared',
      fields: { stream: false },
    });
    expect(bob.status).toBe(200);
  });

  it('meets the longest of several stops', async () => {
    const first = (await (await ground.stop({ user_id: 'ada', hold_seconds: 3_600 })).json()) as Fields;
    const shorter = (await (await ground.stop({ user_id: 'ada', hold_seconds: 0 })).json()) as Fields;
    expect(shorter).toEqual(first);
    expect(
      (await ground.send({ principal: { ...ground.admin, userId: 'ada' }, url: ground.harness.url })).status,
    ).toBe(403);
  });
});

describe('a run with tools', () => {
  it('calls no tool again, and no model', async () => {
    const agent = makeAgent({ key: `agent-${newId()}`, model: 'gpt', tools: { maxIterations: 9 } });
    ground.harness.agents.set(agent.key, agent);
    ground.harness.toolLists.tools = [
      {
        ...{ name: 'lookup', description: 'Looks up.', schemaJson: '{"type":"object"}', tool: 'lookup' },
        ...{ serverId: 's', timeoutMs: 60_000, executor: 'agent', repeatable: true },
      },
    ];
    const called = Promise.withResolvers<undefined>();
    let calls = 0;
    ground.harness.callTool = async () => {
      calls += 1;
      called.resolve(undefined);
      return new Promise(() => undefined);
    };
    const call = {
      index: 0,
      id: 'call_1',
      type: 'function',
      function: { name: 'lookup', arguments: '{"q":1}' },
    };
    ground.provider.answer(whole(completion({ tool_calls: [call] }, 'tool_calls')));
    const pending = ground.send({ fields: { model: `agent:${agent.key}`, stream: false } });
    await Promise.race([
      called.promise,
      pending.then(async (early) => Promise.reject(new Error(await early.text()))),
    ]);
    await ground.stopped({ agent_id: agent.id });
    const response = await pending;
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([403, 'false']);
    expect([calls, ground.provider.received.length]).toEqual([1, 1]);
    expect(await ground.harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'cancelled', error_type: 'stopped', input_tokens: 10, output_tokens: 5, tool_calls: 1 },
    });
  });
});

it('ends a run that webhook has asked for, with an error that it does not repeat', async () => {
  const agent = makeAgent({ key: `agent-${newId()}`, model: 'gpt' });
  ground.harness.agents.set(agent.id, agent);
  const webhook = await ground.harness.peer('webhook');
  const signer = await ground.harness.identity.signer('webhook');
  const { tenantId } = ground.admin;
  const delegation = { tenantId: tenantId ?? '', agentId: agent.id, userId: 'ada' };
  const request = {
    agent: agent.id,
    callId: newId(),
    requestJson: JSON.stringify({ messages }),
    channel: 'webhook',
  };
  const asked = Promise.withResolvers<undefined>();
  ground.provider.answer(() => asked.resolve(undefined));
  const pending = webhook.call('complete', request, {
    deadlineMs: 60_000,
    assertion: await signer.delegation(delegation),
  });
  await Promise.all([
    expect(pending).rejects.toMatchObject({ code: 'run_stopped', status: 403 }),
    asked.promise.then(() => ground.stopped({ user_id: 'ada' })),
  ]);
});

// Last: it cuts the database.
it('refuses a request on a replica that starts later, or whose session was lost', async () => {
  await ground.stopped({ user_id: 'ada' });
  const third = await ground.harness.startReplica();
  const sent = { principal: { ...ground.admin, userId: 'ada' }, url: `http://127.0.0.1:${third.httpPort}` };
  expect((await ground.send(sent)).status).toBe(403);
  await ground.harness.proxy.cut();
  await ground.harness.proxy.open();
  const eve = { ...ground.admin, userId: 'eve' };
  await eventually(async () => expect((await ground.stop({ user_id: 'eve' })).status).toBe(202));
  const refusal = async () => (await ground.refused({ ...sent, principal: eve })).status;
  await eventually(async () => expect(await refusal()).toBe(403));
});
