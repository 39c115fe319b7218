import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Agent } from '@gatehouse/contract/agents';
import { maxFieldBytes } from '../src/bounds.ts';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let agent: Agent;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
  tenant = agents.makeTenant();
});
beforeEach(async () => {
  agent = await agents.makeAgent(tenant.admin, {
    description: 'As made',
    model_fallbacks: ['large'],
    parameters: { temperature: 0.5, response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
    tools: { mcp_servers: ['files', 'search'], builtin: ['web_fetch'] },
    metadata: { team: 'a', nested: { kept: 1, gone: 2 }, list: [1, { x: null }] },
  });
});
afterAll(() => agents.stop());

const patch = (body: unknown, as = tenant.admin) => agents.patch(as, agent.id, body);
const now = async () => (await agents.get(tenant.admin, agent.id)).body;

describe('a merge patch', () => {
  it('leaves alone what it does not mention', async () => {
    const answer = await patch({ name: 'New name' });
    expect(answer.status).toBe(200);
    expect({ ...answer.body, updated_at: '' }).toEqual({ ...agent, name: 'New name', updated_at: '' });
    expect(answer.body.updated_at > agent.updated_at).toBe(true);
    expect(await now()).toEqual(answer.body);
  });

  it('merges objects, removes members that are null and replaces arrays', async () => {
    const { body } = await patch({
      parameters: { temperature: null, top_p: 1, response_format: { json_schema: { strict: true } } },
      metadata: { nested: { gone: null, new: { a: null, b: 1 } }, list: [{ y: null }], never: null },
      tools: { mcp_servers: ['files'], max_iterations: 3, max_cost_usd: null },
      memory: { enabled: true },
      model_fallbacks: [],
    });
    expect(body).toMatchObject({
      tools: { mcp_servers: ['files'], builtin: ['web_fetch'], max_iterations: 3, max_cost_usd: null },
      memory: { enabled: true, recall_limit: 5, min_score: 0.25, write: false, analyser: 'english' },
      model_fallbacks: [],
    });
    expect(body.parameters).toEqual({
      top_p: 1,
      response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true } },
    });
    expect(body.metadata).toEqual({ team: 'a', nested: { kept: 1, new: { b: 1 } }, list: [{ y: null }] });
  });

  it('is taken as application/merge-patch+json too', async () => {
    const answer = await agents.call('PATCH', `/v1/agents/${agent.key}`, {
      as: tenant.admin,
      body: { name: 'By its own type' },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    expect(answer.body.name).toBe('By its own type');
  });

  it('loses nothing when many come at once, and time does not run backwards', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `member-${n}`);
    const answers = await Promise.all(names.map((name) => patch({ metadata: { [name]: true } })));
    expect(answers.map((answer) => answer.status)).toEqual(names.map(() => 200));
    const { metadata, updated_at: updatedAt } = await now();
    expect(metadata).toEqual({ ...agent.metadata, ...Object.fromEntries(names.map((name) => [name, true])) });
    const latest = answers
      .map((answer) => answer.body.updated_at)
      .sort()
      .at(-1);
    expect(updatedAt).toBe(latest);
    // An answer with more members carries a later time.
    const inTime = answers.sort((a, b) => (a.body.updated_at < b.body.updated_at ? -1 : 1));
    const sizes = inTime.map((answer) => Object.keys(answer.body.metadata).length);
    expect(new Set(sizes).size).toBe(names.length);
  });

  it('bounds what many of them may pile up', async () => {
    const big = 'x'.repeat(maxFieldBytes / 2);
    for (const field of ['parameters', 'metadata']) {
      expect((await patch({ [field]: { one: big } })).status).toBe(200);
      const answer = await patch({ [field]: { two: big } });
      expect(answer.status).toBe(400);
      expect(answer.body.error).toMatchObject({ code: 'invalid_value', param: field });
      expect((await patch({ [field]: { one: null, two: big } })).status).toBe(200);
    }
  });
});

describe('changing the key', () => {
  it('moves the agent to it', async () => {
    await patch({ key: `${agent.key}-2` });
    expect((await agents.get(tenant.admin, agent.key)).status).toBe(404);
    expect((await agents.get(tenant.admin, `${agent.key}-2`)).body.id).toBe(agent.id);
  });

  it('to its own key changes nothing, and to a taken one is a 409', async () => {
    const other = await agents.makeAgent(tenant.admin);
    expect((await patch({ key: agent.key })).status).toBe(200);
    const answer = await patch({ key: other.key, name: 'Not this either' });
    expect(answer.status).toBe(409);
    expect(answer.body.error).toMatchObject({ code: 'agent_key_taken', param: 'key' });
    expect((await now()).name).toBe(agent.name);
  });

  it('to each other’s at once is a 409 for both, and neither waits for the other in vain', async () => {
    const [one, two] = [await agents.makeAgent(tenant.admin), await agents.makeAgent(tenant.admin)];
    await slowKeyIndex();
    const answers = await Promise.all([
      agents.patch(tenant.admin, one.id, { key: two.key }),
      agents.patch(tenant.admin, two.id, { key: one.key }),
    ]);
    await agents.rows('drop index agent.slow');
    expect(answers.map((answer) => answer.body.error.code)).toEqual(['agent_key_taken', 'agent_key_taken']);
    expect((await agents.get(tenant.admin, one.key)).body.id).toBe(one.id);
  });
});

describe('changing models', () => {
  beforeEach(() => {
    agents.chat.asked.length = 0;
  });

  it('asks for those only that the agent had not before', async () => {
    await patch({ model: 'vendor/large', model_fallbacks: ['large', 'small'] });
    expect(agents.chat.asked).toEqual([{ tenantId: tenant.id, ids: ['vendor/large'] }]);
  });

  it('refuses unknown ones, naming the field', async () => {
    for (const [body, param] of [
      [{ model: 'nothing' }, 'model'],
      [{ model_fallbacks: ['large', 'nothing'] }, 'model_fallbacks[1]'],
    ] as const) {
      const answer = await patch(body);
      expect(answer.status).toBe(400);
      expect(answer.body.error).toMatchObject({ code: 'unknown_model', param });
    }
    expect((await now()).model).toBe('small');
  });

  it('lets an agent keep one that has left the catalogue', async () => {
    agents.chat.models.add('retired');
    await patch({ model: 'retired' });
    agents.chat.models.delete('retired');
    expect((await patch({ model: 'retired', model_fallbacks: ['small'] })).status).toBe(200);
    expect((await patch({ name: 'Old but good' })).status).toBe(200);
  });

  it('needs a chat that answers: one that hangs is away too', async () => {
    agents.chat.hang();
    try {
      const answer = await patch({ model: 'large', model_fallbacks: ['vendor/large'] });
      expect(answer.status).toBe(503);
      expect(answer.body.error).toMatchObject({ type: 'unavailable_error', code: 'service_unavailable' });
    } finally {
      agents.chat.goOn();
    }
    expect((await now()).model_fallbacks).toEqual(['large']);
    expect((await patch({ model: 'large' })).status).toBe(200);
  });

  it('needs chat, and changing anything else does not', async () => {
    await agents.chat.stop();
    try {
      const answer = await patch({ model: 'large', model_fallbacks: ['vendor/large'] });
      expect(answer.status).toBe(503);
      expect(answer.body.error.code).toBe('service_unavailable');
      expect((await patch({ name: 'Offline', model: 'small' })).status).toBe(200);
      expect((await now()).model_fallbacks).toEqual(['large']);
    } finally {
      await agents.chat.restart();
      // The channel to it takes a moment to come back.
      await agents.untilModelsAreChecked();
    }
  });
});

describe('changing who may see it', () => {
  it('to private needs an owner', async () => {
    const answer = await patch({ visibility: 'private' });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code: 'acting_user_required', param: 'owner_user_id' });
    expect((await now()).visibility).toBe('tenant');
  });

  it('to private makes it that of the acting user, or of who is named', async () => {
    const adopted = await patch({ visibility: 'private' }, tenant.acting('ann'));
    expect(adopted.body).toMatchObject({ visibility: 'private', owner_user_id: 'ann' });
    const given = await patch({ owner_user_id: 'bob' });
    expect(given.body).toMatchObject({ visibility: 'private', owner_user_id: 'bob' });
    expect((await agents.get(tenant.acting('ann'), agent.id)).status).toBe(404);
  });

  it('cannot remove the owner of a private agent', async () => {
    await patch({ visibility: 'private', owner_user_id: 'ann' });
    expect((await patch({ owner_user_id: null })).body.error.code).toBe('acting_user_required');
    const shared = await patch({ owner_user_id: null, visibility: 'tenant' });
    expect(shared.body).toMatchObject({ visibility: 'tenant', owner_user_id: null });
  });

  it('is not for a user to do to another, by naming them or by hiding their agent from oneself', async () => {
    await patch({ owner_user_id: 'bob' });
    for (const body of [{ owner_user_id: 'carl' }, { visibility: 'private' }]) {
      const answer = await patch(body, tenant.acting('ann'));
      expect(answer.status).toBe(403);
      expect(answer.body.error).toMatchObject({ code: 'user_mismatch', param: 'owner_user_id' });
    }
    expect(await now()).toMatchObject({ visibility: 'tenant', owner_user_id: 'bob' });
    expect((await patch({ description: 'Still open' }, tenant.acting('ann'))).body.owner_user_id).toBe('bob');
  });
});

/** Makes each change of a key take a while between the row and the unique index, so that two at once meet there. */
async function slowKeyIndex(): Promise<void> {
  // PostgreSQL fills the indexes in the order of their making, so the unique one has to be made anew.
  await agents.rows(`
    create function agent.slowly(key text) returns text language plpgsql immutable as
      $$ begin perform pg_sleep(0.3); return key; end $$;
    create index slow on agent.agents (agent.slowly(key));
    alter table agent.agents drop constraint agents_tenant_id_key_key,
      add constraint agents_tenant_id_key_key unique (tenant_id, key)`);
}
