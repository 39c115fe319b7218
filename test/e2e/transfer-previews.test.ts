import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  all,
  gateway,
  make,
  makeAgent,
  newTenants,
  preview,
  previews,
  source,
  startGround,
  stopGround,
  target,
  useAsTarget,
} from './transfer-ground.ts';

/** Previews of transfers between tenants, with all services. */

beforeAll(startGround);
beforeEach(newTenants);
afterAll(stopGround);

it('previews an agent with everything that belongs to it', async () => {
  const made = await makeAgent();
  const { status, body } = await preview(all(made));
  expect([status, body]).toMatchObject([
    201,
    {
      resources: [
        {
          ...{ type: 'agent', name: 'clerk', action: 'copy', secrets: 'none' },
          counts: { documents: 1, passages: 1, entities: 2, relations: 1 },
        },
        { type: 'mcp_server', name: 'mail', secrets: 'none', counts: {} },
        { type: 'channel_instance', name: 'Desk', secrets: 'stay', counts: {} },
        { type: 'webhook_endpoint', name: 'Alerts', secrets: 'travel', counts: {} },
      ],
      ...{ conflicts: [], problems: [] },
    },
  ]);
  expect(
    body.dependencies.map(({ type, name, needs, included }) => [type, name, needs.name, included]),
  ).toEqual([
    ['agent', 'clerk', 'mail', true],
    ['webhook_endpoint', 'Alerts', 'clerk', true],
    ['channel_instance', 'Desk', 'clerk', true],
  ]);
  const moved = await preview(all(made), { mode: 'move', include: { memory: false } });
  expect(moved.body.resources.map(({ counts }) => counts)).toEqual([
    { entities: 2, relations: 1 },
    {},
    { conversations: 0, messages: 0 },
    { calls: 0 },
  ]);
});

it('finds what is missing, what stays behind and what the target has already', async () => {
  const made = await makeAgent();
  const [agent, server, , endpoint] = all(made);
  if (agent === undefined || server === undefined || endpoint === undefined)
    throw new Error('nothing was made');
  const lacking = [await preview([agent]), await preview([endpoint])];
  expect(lacking.map(({ body }) => body.error.code)).toEqual(['dependency_missing', 'dependency_missing']);
  expect(lacking[0]?.body.error.message).toContain(`needs the mcp server ${made.server}`);

  const moved = await preview([agent, server], { mode: 'move' });
  expect(moved.body.dependencies.filter(({ included }) => !included)).toMatchObject([
    { type: 'channel_instance', name: 'Desk', needs: { name: 'clerk' } },
    { type: 'webhook_endpoint', name: 'Alerts', needs: { name: 'clerk' } },
  ]);
  const serverAlone = await preview([server], { mode: 'move' });
  expect(serverAlone.body.dependencies).toMatchObject([{ type: 'agent', name: 'clerk', included: false }]);

  const there = await make('/v1/agents', { key: 'clerk', model: 'small' }, target);
  await make('/v1/agents', { key: 'clerk-2', model: 'small' }, target);
  const renamed = await preview([agent, server], { on_conflict: 'rename' });
  expect(renamed.body).toMatchObject({
    resources: [{ target_name: 'clerk-3' }, { target_name: 'mail' }],
    conflicts: [{ name: 'clerk', existing_id: there, resolution: 'rename' }],
  });
});

it('finds free names for many agents that begin alike', async () => {
  const long = 'a'.repeat(62);
  const keys = [`${long}-x`, `${long}-y`, 'clerk', 'clerk-2'].map((key) => key.slice(0, 64));
  for (const key of keys) await make('/v1/agents', { key, model: 'small' }, target);
  const agents = await Promise.all(keys.map((key) => make('/v1/agents', { key, model: 'small' })));
  const { body } = await preview(
    agents.map((id) => ({ type: 'agent', id })),
    { on_conflict: 'rename' },
  );
  const base = 'a'.repeat(58);
  expect(body.resources.map((resource) => resource.target_name)).toEqual([
    ...[`${base}-2`, `${base}-3`, 'clerk-3', 'clerk-2-2'],
  ]);
});

it('keeps channels together whose messages arrive at one URL', async () => {
  const agent = await make('/v1/agents', { key: 'clerk', model: 'small' });
  const [first, second] = await Promise.all(
    ['First', 'Second'].map((name) =>
      make('/v1/channels/instances', {
        ...{ name, type: 'zalo_oa', agent_id: agent, config: { app_id: '77' } },
        credentials: { app_secret: 'secret-of-the-app', oa_secret: 'secret-of-the-account' },
      }),
    ),
  );
  const channel = (id = '') => ({ type: 'channel_instance', id });
  const alone = await preview([{ type: 'agent', id: agent }, channel(first)], { mode: 'move' });
  expect([alone.status, alone.body.error.code]).toEqual([400, 'dependency_missing']);
  expect(alone.body.error.message).toContain(second);
  const both = [{ type: 'agent', id: agent }, channel(first), channel(second)];
  expect((await preview(both, { mode: 'move' })).body.problems).toEqual([]);
  expect((await preview(both.slice(0, 2))).status).toBe(201);
});

it('counts nothing of what is skipped', async () => {
  const made = await makeAgent();
  useAsTarget(await gateway.makeTenant({ limits: { memory: { documents: 0, entities: 0 } } }));
  await make('/v1/agents', { key: 'clerk', model: 'small' }, target);
  const [agent, server] = all(made);
  const some = [agent, server].filter((ref) => ref !== undefined);
  const { body } = await preview(some, { on_conflict: 'skip' });
  expect(body).toMatchObject({ problems: [], resources: [{ action: 'skip', counts: {} }, {}] });
});

it('names the limits of the target', async () => {
  const made = await makeAgent();
  const limits = { memory: { documents: 0, entities: 1 } };
  useAsTarget(await gateway.makeTenant({ limits, allowed_models: ['priced'] }));
  const [agent, server] = all(made);
  const { body } = await preview([agent, server].filter((ref) => ref !== undefined));
  expect(body.problems).toEqual([
    { code: 'limit_reached', message: 'The target may have 0 documents in memory.' },
    { code: 'limit_reached', message: 'The target may have 1 entities in memory.' },
    { code: 'model_not_found', message: 'The target may not use the model small.' },
  ]);
});

it('reads names of models as requests do: aliases, and names behind patterns', async () => {
  const models = ['quick', 'small', 'lab-one', 'lab-two'];
  const agents = await Promise.all(models.map((model) => make('/v1/agents', { key: model, model })));
  const resources = agents.map((id) => ({ type: 'agent', id }));
  const forbidden = async (allowed: string[]) => {
    useAsTarget(await gateway.makeTenant({ allowed_models: allowed }));
    const { body } = await preview(resources);
    return body.problems?.map(({ message }) => /model (\S+)\.$/.exec(message)?.[1]);
  };
  expect(await forbidden(['small', 'lab-*'])).toEqual([]);
  expect(await forbidden(['quick', 'lab-two'])).toEqual(['lab-one']);
  // A pattern means ids: `quick` is an alias.
  expect(await forbidden(['qu*', 'lab-one'])).toEqual(['quick', 'small', 'lab-two']);
});

it('changes with what would be transferred, and is not for the relay', async () => {
  const made = await makeAgent();
  const foreign = await preview(all(made), {}, target.adminKey);
  expect([foreign.status, foreign.body.error.code]).toEqual([403, 'role_missing']);
  const relayed = await gateway.call(`/api-docs/proxy${previews}`, { key: gateway.ownerKey, body: {} });
  expect([relayed.status, relayed.body]).toMatchObject([403, { error: { code: 'relay_forbidden' } }]);
  const revisions = async () => {
    const { body } = await preview(all(made));
    const [row] = await gateway.rows('tenant', 'select source from tenant.transfer_previews where id = $1', [
      body.id,
    ]);
    const { resources } = row?.['source'] as { resources: { revision: string }[] };
    return resources.map(({ revision }) => revision);
  };
  const before = await revisions();
  expect(await revisions()).toEqual(before);
  const patch = { key: source.adminKey, method: 'PATCH' };
  await gateway.call(`/v1/agents/${made.agent}`, { ...patch, body: { system_prompt: 'Be brief.' } });
  await gateway.call(`/v1/mcp/servers/${made.server}`, { ...patch, body: { timeout_ms: 5_000 } });
  await gateway.call(`/v1/channels/instances/${made.channel}`, { ...patch, body: { name: 'Front desk' } });
  await gateway.call(`/v1/webhooks/endpoints/${made.endpoint}`, { ...patch, body: { mode: 'async' } });
  const after = await revisions();
  expect(after.filter((revision, index) => revision === before[index])).toEqual([]);
});
