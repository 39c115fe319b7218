import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { As } from '@gatehouse/test/service-under-test';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
});
afterAll(() => agents.stop());

const keys = ['shared', 'of-ann', 'of-bob'] as const;

/** A tenant with an agent for everybody and a private one each for Ann and Bob. */
async function makeAgents(): Promise<void> {
  tenant = agents.makeTenant();
  await agents.makeAgent(tenant.admin, { key: 'shared' });
  await agents.makeAgent(tenant.admin, { key: 'of-ann', visibility: 'private', owner_user_id: 'ann' });
  await agents.makeAgent(tenant.acting('bob'), { key: 'of-bob', visibility: 'private' });
}

const viewers: [string, () => As, readonly string[]][] = [
  ['an admin key without an acting user', () => tenant.admin, keys],
  ['an admin key acting for Ann', () => tenant.acting('ann'), ['shared', 'of-ann']],
  ['an admin key acting for a user without agents', () => tenant.acting('Ann'), ['shared']],
  ['an admin key bound to Bob', () => ({ ...tenant.bound('bob'), role: 'admin' }), ['shared', 'of-bob']],
  ['a user key without an acting user', () => tenant.user, ['shared']],
  ['a user key acting for Ann', () => ({ ...tenant.user, userId: 'ann' }), ['shared', 'of-ann']],
  ['a user key bound to Bob', () => tenant.bound('bob'), ['shared', 'of-bob']],
];

describe.each(viewers)('%s', (_who, viewer, seen) => {
  /** A caller who can see an agent can change it with the scope `agents.write`, which user keys lack. */
  const writer = (): As => ({ ...viewer(), scopes: ['agents.write', 'chat'] });
  const hidden = keys.filter((key) => !seen.includes(key));
  beforeAll(makeAgents);

  it(`lists ${seen.join(', ')}`, async () => {
    expect(await agents.listKeys(viewer())).toEqual([...seen].reverse());
    expect(await agents.listVisible(viewer())).toEqual([...seen].reverse());
  });

  it('gets, resolves and changes those it sees, by id and by key', async () => {
    for (const key of seen) {
      const { body } = await agents.get(viewer(), key);
      expect(body.key).toBe(key);
      for (const ref of [key, body.id]) {
        expect((await agents.get(viewer(), ref)).body).toEqual(body);
        expect((await agents.resolve(viewer(), ref))?.id).toBe(body.id);
      }
      expect((await agents.patch(writer(), key, { description: key })).body.description).toBe(key);
    }
  });

  it('meets the others as if they did not exist', async () => {
    const never = await agents.get(viewer(), 'never-was');
    for (const key of hidden) {
      const { id } = (await agents.get(tenant.admin, key)).body;
      for (const ref of [key, id]) {
        for (const answer of [
          await agents.get(viewer(), ref),
          await agents.patch(writer(), ref, { description: 'Changed' }),
          await agents.patch(writer(), ref, { model: 'nothing' }),
          await agents.delete(writer(), ref),
        ]) {
          expect(answer.status).toBe(404);
          expect({ ...answer.body.error, request_id: '' }).toEqual({ ...never.body.error, request_id: '' });
        }
        await expect(agents.resolve(viewer(), ref)).rejects.toMatchObject({ code: 'not_found' });
      }
      expect((await agents.get(tenant.admin, key)).body.description).toBe('');
    }
  });

  it('may delete each agent that it sees', async () => {
    for (const key of seen) expect((await agents.delete(writer(), key)).status).toBe(204);
    expect(await agents.listKeys(tenant.admin)).toEqual([...hidden].reverse());
  });
});

describe('the RPCs', () => {
  beforeAll(makeAgents);

  it('list active agents only, and resolve disabled ones', async () => {
    await agents.patch(tenant.admin, 'shared', { status: 'disabled' });
    expect(await agents.listVisible(tenant.bound('ann'))).toEqual(['of-ann']);
    expect(await agents.resolve(tenant.user, 'shared')).toMatchObject({ key: 'shared', status: 'disabled' });
  });
});
