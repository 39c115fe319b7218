import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';

let gateway: SomeGateway;
beforeAll(async () => {
  gateway = await openGateway();
});
afterAll(() => gateway.stop());

/** Agents with a prompt of so many bytes. */
async function makeAgents(tenantId: string, count: number, promptBytes: number): Promise<string[]> {
  const ids = Array.from({ length: count }, newId);
  await gateway.rows(
    'agent',
    `insert into agent.agents (id, tenant_id, key, name, description, model, model_fallbacks, system_prompt, parameters,
       tools, memory, visibility, status, metadata)
     select id, $1, 'agent-' || n, 'Agent', '', 'small', '{}', repeat('x', $3), '{}',
       '{"mcp_servers":[],"builtin":[],"max_iterations":1}', '{"enabled":false,"recall_limit":1,"write":false}',
       'tenant', 'active', '{}'
     from unnest($2::uuid[]) with ordinality as ids (id, n)`,
    [tenantId, ids, promptBytes],
  );
  return ids;
}

it('the list of models names each of 2,500 agents once', async () => {
  const tenant = await gateway.makeTenant();
  await makeAgents(tenant.id, 2_500, 10);
  const answer = await gateway.call('/v1/models', { key: tenant.userKey });
  expect(answer.status).toBe(200);
  const { data, has_more: more } = answer.body as { data: { id: string }[]; has_more?: boolean };
  const listed = data.map(({ id }) => id).filter((id) => id.startsWith('agent:'));
  expect(listed.sort()).toEqual(Array.from({ length: 2_500 }, (_, n) => `agent:agent-${n + 1}`).sort());
  expect(more).toBeUndefined();
});

it('pages of 4 MiB pass through the edge, and together hold each agent once', async () => {
  const tenant = await gateway.makeTenant();
  const ids = await makeAgents(tenant.id, 30, 600_000);
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const answer = await gateway.call(`/v1/agents?limit=200${cursor}`, { key: tenant.adminKey });
    expect(answer.status).toBe(200);
    const page = answer.body as { data: { id: string }[]; next_cursor: string | null };
    expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(4 * 2 ** 20 + 1_000);
    seen.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor === null ? null : `&cursor=${page.next_cursor}`;
  }
  expect(seen).toEqual(ids.sort().reverse());
});

it('the largest agent that can be made answers a chat request', async () => {
  const tenant = await gateway.makeTenant();
  const members = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`m${n}`, 'x'.repeat(100)]));
  const created = await gateway.call('/v1/agents', {
    key: tenant.adminKey,
    method: 'POST',
    body: {
      key: 'largest',
      model: 'small',
      name: 'n'.repeat(200),
      description: '🙂'.repeat(2_500),
      system_prompt: '🙂'.repeat(100_000),
      parameters: { ...members, max_tokens: 10 },
      metadata: members,
    },
  });
  expect(created.status).toBe(201);
  const answer = await gateway.call('/v1/chat/completions', {
    key: tenant.userKey,
    body: { model: 'agent:largest', messages: [{ role: 'user', content: 'hello' }] },
  });
  expect(answer.status).toBe(200);
});
