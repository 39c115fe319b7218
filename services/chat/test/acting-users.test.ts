import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { RunEnded } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import { chat, ChatHarness, makeAgent } from './chat-harness.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(() => harness.stop());

const path = '/v1/chat/completions';
const engineers = [
  { id: newId(), name: 'Berlin' },
  { id: newId(), name: 'Engineering' },
];

/** A tenant with a directory that has `ada` in two groups, and `eve`, who is blocked. */
function makeTenant(actingUsers = 'any'): string {
  const tenantId = newId();
  harness.settings.set(tenantId, { hasUsers: true, actingUsers });
  harness.users.set(`${tenantId} ada`, { id: newId(), userId: 'ada', blocked: false, groups: engineers });
  harness.users.set(`${tenantId} eve`, { id: newId(), userId: 'eve', blocked: true, groups: [] });
  return tenantId;
}

const ask = (tenantId: string, userId: string | null, body: unknown = chat('hello')) =>
  harness.post(path, body, { principal: { tenantId, userId } });
async function groupsOfRun(response: Response): Promise<RunEnded['groups']> {
  expect(response.status).toBe(200);
  await response.text();
  return (await harness.endedRun(response.headers.get('x-run-id'))).groups;
}
const refusalOf = async (response: Response): Promise<unknown> => [
  response.status,
  ((await response.json()) as { error: { code: string } }).error.code,
];

it('a run has the groups that its user had when it began', async () => {
  const tenantId = makeTenant();
  expect(await groupsOfRun(await ask(tenantId, 'ada'))).toEqual(['Berlin', 'Engineering']);
  expect(await groupsOfRun(await ask(tenantId, 'stranger'))).toBeUndefined();
  expect(await groupsOfRun(await ask(tenantId, null))).toBeUndefined();
});

it('the directory of a tenant without users is not asked', async () => {
  const tenantId = newId();
  harness.users.set(`${tenantId} ada`, { id: newId(), userId: 'ada', blocked: true, groups: engineers });
  expect(await groupsOfRun(await ask(tenantId, 'ada'))).toBeUndefined();
});

it('a blocked user has no runs, whatever service asks', async () => {
  const tenantId = makeTenant();
  expect(await refusalOf(await ask(tenantId, 'eve'))).toEqual([403, 'user_blocked']);
  const agent = makeAgent({ key: 'helper' });
  harness.agents.set(agent.id, agent);
  const webhook = await harness.peer('webhook');
  const signer = await harness.identity.signer('webhook');
  const call = {
    ...{ agent: agent.id, callId: newId(), channel: 'webhook' },
    requestJson: JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] }),
  };
  const assertion = await signer.delegation({ tenantId, agentId: agent.id, userId: 'eve' });
  await expect(webhook.call('complete', call, { deadlineMs: 10_000, assertion })).rejects.toMatchObject({
    code: 'user_blocked',
  });
});

it('acting_users decides whose runs begin, and counts are no runs', async () => {
  const required = makeTenant('required');
  expect(await refusalOf(await ask(required, null))).toEqual([400, 'acting_user_required']);
  expect((await ask(required, 'stranger')).status).toBe(200);
  const known = makeTenant('known');
  expect(await refusalOf(await ask(known, 'stranger'))).toEqual([403, 'user_unknown']);
  expect((await ask(known, 'ada')).status).toBe(200);
  const body = { model: 'claude', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] };
  const counted = await harness.post('/v1/messages/count_tokens', body, {
    principal: { tenantId: known, userId: null },
  });
  expect(await counted.text()).not.toContain('acting_user_required');
});
