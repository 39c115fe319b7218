import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { As } from '@gatehouse/test/service-under-test';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
  tenant = agents.makeTenant();
});
afterAll(() => agents.stop());

const create = (body: unknown, as: As = tenant.admin) => agents.call('POST', '/v1/agents', { as, body });

describe('creating an agent', () => {
  it('answers with every field, the omitted ones at their defaults, and says where the agent is', async () => {
    const answer = await create({ key: 'support', model: 'small' });
    expect(answer.status).toBe(201);
    const { id, created_at: createdAt, updated_at: updatedAt, ...settings } = answer.body;
    expect(answer.headers.get('location')).toBe(`/v1/agents/${id}`);
    expect(settings).toEqual({
      key: 'support',
      name: 'support',
      description: '',
      model: 'small',
      model_fallbacks: [],
      system_prompt: '',
      parameters: {},
      tools: { mcp_servers: [], builtin: [], web_hosts: [], max_iterations: 10, max_cost_usd: null },
      memory: { enabled: false, recall_limit: 5, min_score: 0.25, write: false, analyser: 'english' },
      visibility: 'tenant',
      owner_user_id: null,
      status: 'active',
      metadata: {},
    });
    expect(updatedAt).toBe(createdAt);
    expect(Math.abs(Date.now() - Date.parse(createdAt))).toBeLessThan(60_000);
    expect((await agents.get(tenant.admin, id)).body).toEqual(answer.body);
  });

  it('keeps every field as it was given', async () => {
    const settings = {
      key: 'everything',
      name: '“Alles” – 一切 🐘',
      description: 'a\u2028b\nc',
      model: 'vendor/large',
      model_fallbacks: ['small', 'large', 'small'],
      system_prompt: `${'long '.repeat(39_999)}\r\n`,
      parameters: {
        temperature: 0,
        max_tokens: 0,
        seed: -9007199254740991,
        stop: ['\u0000', '\ud800'],
        odd: null,
      },
      tools: {
        mcp_servers: ['files', 'mail/Send it'],
        builtin: ['web_fetch'],
        max_iterations: 50,
        max_cost_usd: '0.50',
      },
      memory: { enabled: true, recall_limit: 50, min_score: 0.7, write: true, analyser: 'simple' },
      visibility: 'private',
      owner_user_id: ' ~ "user" ',
      status: 'disabled',
      metadata: { z: 1, a: { '': [null, 1.5e300, { deep: '\u0000\udfff' }] } },
    };
    const answer = await create({ ...settings, allow_missing: true });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject(settings);
    expect(answer.body).not.toHaveProperty('allow_missing');
    const { body } = await agents.get(tenant.admin, 'everything');
    expect(body).toEqual(answer.body);
    expect(Object.keys(body.metadata)).toEqual(['z', 'a']);
  });

  it('keeps models whose names mean something to SQL arrays', async () => {
    const models = ['NULL', 'a,b', '{c}', '"d"', String.raw`\e`];
    for (const model of models) agents.chat.models.add(model);
    const { model_fallbacks: fallbacks } = await agents.makeAgent(tenant.admin, { model_fallbacks: models });
    expect(fallbacks).toEqual(models);
  });

  it('completes the parts of tools and memory that are not given', async () => {
    const agent = await agents.makeAgent(tenant.admin, {
      tools: { max_iterations: 3 },
      memory: { enabled: true },
    });
    expect(agent.tools).toEqual({
      mcp_servers: [],
      builtin: [],
      web_hosts: [],
      max_iterations: 3,
      max_cost_usd: null,
    });
    expect(agent.memory).toEqual({
      enabled: true,
      recall_limit: 5,
      min_score: 0.25,
      write: false,
      analyser: 'english',
    });
  });

  it('refuses a key that is taken in the tenant, and only there', async () => {
    await create({ key: 'taken', model: 'small' });
    const again = await create({ key: 'taken', model: 'large' });
    expect(again.status).toBe(409);
    expect(again.body.error).toMatchObject({
      type: 'invalid_request_error',
      code: 'agent_key_taken',
      param: 'key',
    });
    expect((await create({ key: 'taken', model: 'small' }, agents.makeTenant().admin)).status).toBe(201);
    expect((await agents.get(tenant.admin, 'taken')).body.model).toBe('small');
  });

  it('gives a key to one of two that ask at once', async () => {
    const answers = await Promise.all([1, 2].map(() => create({ key: 'wanted-by-both', model: 'small' })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409]);
  });
});

describe('the models of a new agent', () => {
  it.each([
    [{ model: 'nothing' }, 'model'],
    [{ model: 'agent:support' }, 'model'],
    [{ model_fallbacks: ['large', 'nothing'] }, 'model_fallbacks[1]'],
  ])('are refused as %j, naming the field', async (fields, param) => {
    const answer = await create({ key: 'unmade', model: 'small', ...fields });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code: 'unknown_model', param });
    expect((await agents.get(tenant.admin, 'unmade')).status).toBe(404);
  });

  it('are asked for together, on behalf of the tenant', async () => {
    agents.chat.asked.length = 0;
    await agents.makeAgent(tenant.admin, { model: 'large', model_fallbacks: ['small', 'large'] });
    expect(agents.chat.asked).toEqual([{ tenantId: tenant.id, ids: ['large', 'small'] }]);
  });

  it('cannot be checked while chat is unavailable: answers 503 and creates no agent', async () => {
    await agents.chat.stop();
    try {
      const answer = await create({ key: 'too-early', model: 'small' });
      expect(answer.status).toBe(503);
      expect(answer.body.error).toMatchObject({ type: 'unavailable_error', code: 'service_unavailable' });
      expect((await agents.get(tenant.admin, 'too-early')).status).toBe(404);
    } finally {
      await agents.chat.restart();
    }
    await agents.untilModelsAreChecked();
    expect((await create({ key: 'too-early', model: 'small' })).status).toBe(201);
  });
});

describe('the owner of a new agent', () => {
  it.each([
    ['nobody without an acting user', {}, null, null],
    ['the acting user', {}, 'ann', 'ann'],
    ['who is named', { owner_user_id: 'ann' }, null, 'ann'],
    ['who is named and acts', { visibility: 'private', owner_user_id: 'ann' }, 'ann', 'ann'],
    ['the acting user where nobody is named', { visibility: 'private', owner_user_id: null }, 'ann', 'ann'],
  ])('is %s', async (_who, fields, user, owner) => {
    const as = user === null ? tenant.admin : tenant.acting(user);
    expect((await agents.makeAgent(as, fields)).owner_user_id).toBe(owner);
  });

  it('is stored by the id of the user, whatever name is given', async () => {
    agents.tenant.users.set(`${tenant.id} ann@example.com`, { userId: 'ann', blocked: false });
    const inDirectory = { hasUsers: true } as const;
    const as = { ...tenant.admin, ...inDirectory };
    const owner = { visibility: 'private', owner_user_id: 'Ann@Example.com' };
    const { id, owner_user_id: made } = await agents.makeAgent(as, owner);
    expect(made).toBe('ann');
    expect((await agents.get(tenant.acting('ann'), id)).status).toBe(200);
    await agents.patch(as, id, { owner_user_id: 'bob' });
    const given = await agents.patch(as, id, owner);
    expect(given.body.owner_user_id).toBe('ann');
    const acting = { ...tenant.acting('ann'), ...inDirectory };
    expect((await agents.makeAgent(acting, owner)).owner_user_id).toBe('ann');
    // Without a directory, and of another tenant, the name itself counts.
    expect((await agents.makeAgent(tenant.admin, owner)).owner_user_id).toBe('Ann@Example.com');
    const other = { ...agents.makeTenant().admin, ...inDirectory };
    expect((await agents.makeAgent(other, owner)).owner_user_id).toBe('Ann@Example.com');
  });

  it('is required when the agent is private', async () => {
    for (const fields of [{}, { owner_user_id: null }]) {
      const answer = await create({ key: 'unowned', model: 'small', visibility: 'private', ...fields });
      expect(answer.status).toBe(400);
      expect(answer.body.error.code).toBe('acting_user_required');
    }
  });

  it('cannot differ from the acting user', async () => {
    for (const visibility of ['tenant', 'private']) {
      const body = { key: 'mismatch', model: 'small', visibility, owner_user_id: 'bob' };
      const answer = await create(body, tenant.acting('ann'));
      expect(answer.status).toBe(403);
      expect(answer.body.error).toMatchObject({ code: 'user_mismatch', param: 'owner_user_id' });
    }
  });
});

describe('addressing an agent', () => {
  it('works by id, in any case, and by key', async () => {
    const { id, key } = await agents.makeAgent(tenant.admin);
    for (const ref of [id, id.toUpperCase(), key]) {
      expect((await agents.get(tenant.admin, ref)).body.id).toBe(id);
      expect((await agents.patch(tenant.admin, ref, { name: ref })).body).toMatchObject({ id, name: ref });
      expect((await agents.resolve(tenant.admin, ref))?.id).toBe(id);
    }
    expect((await agents.get(tenant.admin, key.toUpperCase())).status).toBe(404);
    expect((await agents.delete(tenant.admin, key)).status).toBe(204);
    expect((await agents.get(tenant.admin, id)).status).toBe(404);
  });

  it('finds a key that looks like an id, unless an agent has that id', async () => {
    const one = await agents.makeAgent(tenant.admin);
    const other = await agents.makeAgent(tenant.admin, { key: one.id });
    const alone = await agents.makeAgent(tenant.admin, { key: newId() });
    expect((await agents.get(tenant.admin, alone.key)).body.id).toBe(alone.id);
    expect((await agents.get(tenant.admin, one.id)).body.id).toBe(one.id);
    expect((await agents.patch(tenant.admin, one.id, { name: 'By id' })).body.id).toBe(one.id);
    await agents.delete(tenant.admin, one.id);
    expect((await agents.get(tenant.admin, one.id)).body.id).toBe(other.id);
  });
});

describe('deleting an agent', () => {
  it('answers 204 once and then like for an agent that never was', async () => {
    const { id, key } = await agents.makeAgent(tenant.admin);
    expect((await agents.delete(tenant.admin, id)).status).toBe(204);
    const never = await agents.delete(tenant.admin, newId());
    expect(never.body.error.code).toBe('not_found');
    for (const ref of [id, key]) {
      const answer = await agents.delete(tenant.admin, ref);
      expect(answer.status).toBe(404);
      expect({ ...answer.body.error, request_id: '' }).toEqual({ ...never.body.error, request_id: '' });
    }
    expect(await agents.rows('select id from agent.agents where id = $1', [id])).toEqual([]);
  });

  it('frees its key for another agent', async () => {
    const { key } = await agents.makeAgent(tenant.admin);
    await agents.delete(tenant.admin, key);
    expect((await create({ key, model: 'small' })).status).toBe(201);
  });

  it('succeeds for one of many that try at once', async () => {
    const { id } = await agents.makeAgent(tenant.admin);
    const answers = await Promise.all(Array.from({ length: 8 }, () => agents.delete(tenant.admin, id)));
    expect(answers.filter((answer) => answer.status === 204)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 404)).toHaveLength(7);
  });
});
