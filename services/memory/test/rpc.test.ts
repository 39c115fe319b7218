import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultMinScore } from '@gatehouse/contract/agents';
import { newId } from '@gatehouse/kit/ids';
import type { RememberRequest } from '@gatehouse/proto/memory/v1/memory';
import { lockWaits } from '@gatehouse/test/lock-waits';
import type { As } from '@gatehouse/test/service-under-test';
import { Client } from 'pg';
import { eventually } from '@gatehouse/test/eventually';
import { GraphClient } from './graph-client.ts';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
let tenant: TestTenant;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
  tenant = memory.makeTenant();
});
afterAll(() => memory.stop());

const deadline = { deadlineMs: 5_000 };

async function recall(query: string, as: As, { limit = 5, agentId = tenant.agentId, minScore = 0 } = {}) {
  const chat = await memory.peer('chat');
  const context = { ...deadline, assertion: await memory.identity.assertion(as) };
  return chat.call('recall', { agentId, analyser: 'english', query, limit, minScore }, context);
}

async function remember(of: TestTenant, fields: Partial<RememberRequest>): Promise<boolean> {
  const chat = await memory.peer('chat');
  const turn: RememberRequest = {
    tenantId: of.id,
    agentId: of.agentId,
    analyser: 'english',
    userId: 'ann',
    sessionId: 'chat-1',
    runId: newId(),
    input: 'I prefer window seats.',
    output: 'Noted.',
    startedAtMs: BigInt(Date.now()),
    ...fields,
  };
  return (await chat.call('remember', turn, deadline)).stored;
}

async function forgetUser(of: TestTenant, userId: string, requestedAt = Date.now()) {
  const peer = await memory.participant('tenant');
  const request = { tenantId: of.id, userId, deletionId: newId(), requestedAtMs: BigInt(requestedAt) };
  return peer.call('forgetUser', request, deadline);
}

/** Transactions of this database that wait for such a lock. */
async function waiting(kind: string): Promise<number> {
  const found = await memory.rows(`select 1 from ${lockWaits} where locktype = $1`, [kind]);
  return found.length;
}

describe('Recall', () => {
  it('returns the best passages that the acting user may see', async () => {
    await memory.put(tenant, 'lines', 'One\n\nThe heron stands still.');
    await memory.put(tenant, 'hers', 'Ann saw a heron.', tenant.acting('ann'));
    const { passages, mode } = await recall('Where is the heron?', tenant.acting('ann'));
    expect(mode).toBe('lexical');
    expect(passages.map(({ path }) => path).sort()).toEqual(['hers', 'lines']);
    expect((await recall('heron', tenant.user)).passages).toEqual([
      expect.objectContaining({
        path: 'lines',
        startLine: 1,
        endLine: 3,
        text: 'One\n\nThe heron stands still.',
      }),
    ]);
    expect((await recall('heron', tenant.acting('ann'), { limit: 1 })).passages).toHaveLength(1);
  });

  it('returns nothing of another tenant’s agent, and nothing for odd queries', async () => {
    const stranger = memory.makeTenant();
    expect((await recall('heron', stranger.admin)).passages).toEqual([]);
    for (const query of ['', '\0', '\ud800', 'x'.repeat(100_000), '?'])
      expect((await recall(query, tenant.admin)).passages).toEqual([]);
  });

  it('returns nothing below the score that the agent wants, and nothing for greetings and thanks', async () => {
    const own = memory.makeTenant();
    await remember(own, { input: 'hi', output: 'Hello! How can I help you?' });
    await remember(own, { input: 'Which trains go to Hanoi?', output: 'Two a day.', runId: newId() });
    const paths = async (query: string, minScore = 0.25) =>
      (await recall(query, own.acting('ann'), { agentId: own.agentId, minScore })).passages.length;
    expect([await paths('trains to Hanoi'), await paths('hi, the trains to Hanoi please')]).toEqual([1, 1]);
    for (const query of ['hi', 'Hello!', 'thanks 👍', 'ok'])
      expect([query, await paths(query, 0)]).toEqual([query, 0]);
    const vague = 'Write ten haiku about trains, apples, mountains, rivers, clouds, bridges and snow';
    expect([await paths(vague, 0.3), await paths(vague, 0)]).toEqual([0, 1]);
  });

  it.each([
    ['passport', 'The passport of Ines expires on 4 March 2027.', 'when does my passport run out again?'],
    [
      'boiler',
      'The boiler was serviced in October by Hale & Sons.',
      'is the boiler alright, or do I have to worry?',
    ],
    ['tent', 'The tent is at Jonas’s; he also has our stove.', 'Who did I lend the tent to?'],
  ])('finds the only note, %s, for a long message about it', async (path, note, question) => {
    const own = memory.makeTenant();
    await memory.put(own, path, note, own.acting('ann'));
    const chatty =
      'Hey, sorry to bother you again, I have been going through my drawers all morning and my head is spinning:';
    for (const query of [question, `${chatty} ${question}`]) {
      const request = { agentId: own.agentId, minScore: defaultMinScore };
      const { passages } = await recall(query, own.acting('ann'), request);
      expect(passages.map((passage) => passage.path)).toEqual([path]);
    }
  });

  it('is for chat, with a principal', async () => {
    const request = { agentId: tenant.agentId, analyser: 'english', query: 'x', limit: 1, minScore: 0 };
    const assertion = await memory.identity.assertion(tenant.admin);
    const webhook = await memory.peer('webhook');
    const attempt = webhook.call('recall', request, { ...deadline, assertion });
    await expect(attempt).rejects.toMatchObject({ code: 'caller_not_allowed' });
    const bare = (await memory.peer('chat')).call('recall', request, deadline);
    await expect(bare).rejects.toMatchObject({ code: 'bad_gateway' });
  });
});

describe('Remember', () => {
  it('stores a turn for its user, with its run and session as the source', async () => {
    const own = memory.makeTenant();
    const runId = newId();
    expect(await remember(own, { runId })).toBe(true);
    const { results } = (await memory.search(own, { query: 'window seats' }, own.acting('ann'))).body;
    expect(results).toHaveLength(1);
    expect(results[0]?.text).toBe('User: I prefer window seats.\n\nAssistant: Noted.');
    const document = await memory.get(own, results[0]?.path ?? '', own.acting('ann'));
    expect(document.body).toMatchObject({
      scope: 'user',
      user_id: 'ann',
      source: { kind: 'conversation', run_id: runId, session_id: 'chat-1' },
    });
    expect(await memory.pathsFor(own, 'window seats')).toEqual([]);
    expect(await memory.pathsFor(own, 'window seats', own.acting('bob'))).toEqual([]);
  });

  it('stores what is said again in a session once', async () => {
    const own = memory.makeTenant();
    const stored = [];
    for (const sessionId of ['a', 'a', 'b', '', '']) stored.push(await remember(own, { sessionId }));
    expect(stored).toEqual([true, false, true, true, false]);
    expect(await memory.stats(own, own.acting('ann'))).toMatchObject({ documents: 3 });
  });

  it('cuts a long turn, and stores what PostgreSQL could not', async () => {
    const own = memory.makeTenant();
    expect(
      await remember(own, { input: `a\0b\ud800${'x '.repeat(100_000)}`, output: 'y'.repeat(100_000) }),
    ).toBe(true);
    expect((await memory.stats(own, own.acting('ann'))).bytes).toBeLessThan(70_000);
  });

  it('refuses a turn without a user', async () => {
    await expect(remember(tenant, { userId: '' })).rejects.toMatchObject({ code: 'invalid_value' });
  });
});

describe('AgentDeleted', () => {
  it('removes everything of the agent, may be repeated, and stops late writes', async () => {
    const own = memory.makeTenant();
    await memory.put(own, 'a', 'An otter.');
    await remember(own, {});
    const peer = await memory.peer('agent');
    const request = { tenantId: own.id, agentId: own.agentId };
    expect(await peer.call('agentDeleted', request, deadline)).toEqual({ completed: true });
    expect(await peer.call('agentDeleted', request, deadline)).toEqual({ completed: true });
    for (const table of ['documents', 'chunks', 'postings', 'scopes'])
      expect(await memory.rows(`select 1 from memory.${table} where tenant_id = $1`, [own.id])).toEqual([]);
    await expect(remember(own, {})).rejects.toMatchObject({ code: 'not_found' });
    const put = { as: own.admin, body: { text: 'x' } };
    expect((await memory.call('PUT', `${own.base}/memory/documents/b`, put)).status).toBe(404);
    expect((await memory.call('GET', `${own.base}/memory/documents/a`, { as: own.admin })).status).toBe(404);
    expect(
      await memory.rows('select documents, bytes from memory.tenants where tenant_id = $1', [own.id]),
    ).toEqual([{ documents: '0', bytes: '0' }]);
  });
});

describe('ForgetUser', () => {
  it('removes what a user left in all agents of the tenant, of no one else', async () => {
    const own = memory.makeTenant();
    const agentId = memory.agents.add(own.id, 'second');
    const second = { ...own, agentId, base: `/v1/agents/${agentId}` };
    for (const each of [own, second]) {
      await memory.put(each, 'a', 'Zanzibar of Ann', own.acting('annabel'));
      await memory.put(each, 'a', 'Timbuktu of Bob', own.acting('bob'));
    }
    await memory.rows('analyze');
    const { counts, completed } = await forgetUser(own, 'annabel');
    expect([counts, completed]).toEqual([{ documents: 2n, chunks: 2n, entities: 0n, relations: 0n }, true]);
    expect((await forgetUser(own, 'annabel')).counts).toMatchObject({ documents: 0n, chunks: 0n });
    const tables = await memory.rows<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'memory'::regnamespace and relkind in ('r', 'p')`,
    );
    for (const { name } of tables) {
      const found = await memory.rows(
        `select 1 from memory.${name} as t where t::text ~* 'zanzibar|annabel'`,
      );
      expect([name, found]).toEqual([name, []]);
    }
    const samples = await memory.rows(
      `select attname from pg_stats where schemaname = 'memory' and pg_stats::text ~* 'zanzibar|annabel'`,
    );
    expect(samples).toEqual([]);
    expect(await memory.pathsFor(second, 'Timbuktu', own.acting('bob'))).toEqual(['a']);
  });

  it('removes what is being written for the first time', async () => {
    const own = memory.makeTenant();
    await memory.put(own, 'a', 'Of the agent.');
    const blocker = new Client({ connectionString: memory.database.adminUrl });
    await blocker.connect();
    try {
      // A writer takes this row last, when everything else is written.
      await blocker.query('begin');
      await blocker.query('select 1 from memory.tenants where tenant_id = $1 for update', [own.id]);
      const put = memory.put(own, 'b', 'Of Ann.', own.acting('ann'));
      await eventually(async () => expect(await waiting('transactionid')).toBe(1));
      const forgotten = forgetUser(own, 'ann');
      await eventually(async () => expect(await waiting('advisory')).toBe(1));
      await blocker.query('commit');
      await put;
      expect((await forgotten).counts).toMatchObject({ documents: 1n });
      expect(await memory.stats(own, own.acting('ann'))).toMatchObject({ documents: 1 });
    } finally {
      await blocker.end();
    }
  });

  it('removes nothing that the user does after the request for it', async () => {
    const own = memory.makeTenant();
    const ann = own.acting('ann');
    const graph = new GraphClient(memory, own, ann);
    const entity = (external_id: string, description: string) =>
      graph.entities({ external_id, name: external_id, type: 'place', description });
    await memory.put(own, 'before', 'Of before.', ann);
    await memory.put(own, 'again', 'Of before.', ann);
    expect((await entity('old', 'Zanzibar')).status).toBe(200);
    expect((await entity('changed', 'Timbuktu')).status).toBe(200);
    expect((await entity('same', 'Samarkand')).status).toBe(200);
    const mixed = { external_id: 'mixed', name: 'mixed', type: 'place' };
    await graph.entities({ ...mixed, properties: { seat: '12A' } });
    await graph.link('changed>same:2', 'same>changed:2');
    await memory.rows('update memory.entities set run_id = $2 where tenant_id = $1', [own.id, newId()]);
    await setTimeout(2);
    const requestedAt = Date.now();
    await setTimeout(2);
    await memory.put(own, 'again', 'Kumquats later.', ann);
    await memory.put(own, 'after', 'Kumquats later.', ann);
    expect((await entity('new', 'Samarkand')).status).toBe(200);
    expect((await entity('changed', 'Samarkand')).status).toBe(200);
    expect((await entity('same', 'Samarkand')).status).toBe(200);
    // These two still have properties and the weight of before.
    expect((await graph.entities({ ...mixed, description: 'Samarkand' })).status).toBe(200);
    await graph.relations({ source: 'changed', target: 'same', type: 'leads_to', properties: { a: 1 } });
    await graph.link('same>changed:2');
    expect(await forgetUser(own, 'ann', requestedAt)).toEqual({
      counts: { documents: 1n, chunks: 1n, entities: 2n, relations: 1n },
      completed: true,
    });
    expect((await memory.pathsFor(own, 'kumquats', ann)).toSorted()).toEqual(['after', 'again']);
    const rows = await memory.rows(
      'select external_id, run_id from memory.entities where tenant_id = $1 order by external_id',
      [own.id],
    );
    expect(rows).toEqual(['changed', 'new', 'same'].map((external_id) => ({ external_id, run_id: null })));
    expect(await graph.reach({ start: ['same'] })).toBe('same0 changed1');
    expect((await forgetUser(own, 'ann', Date.now() + 1)).counts).toMatchObject({
      documents: 2n,
      entities: 3n,
      relations: 1n,
    });
    expect(
      await memory.rows(`select from memory.graphs where tenant_id = $1 and user_id = 'ann'`, [own.id]),
    ).toHaveLength(0);
  });

  it('refuses turns from before, and stores those after it', async () => {
    const own = memory.makeTenant();
    const requestedAt = Date.now();
    await forgetUser(own, 'ann', requestedAt);
    expect(await remember(own, { startedAtMs: BigInt(requestedAt - 1) })).toBe(false);
    expect(await remember(own, { userId: 'bob', startedAtMs: BigInt(requestedAt - 1) })).toBe(true);
    expect(await remember(own, { startedAtMs: BigInt(requestedAt + 1) })).toBe(true);
    // A late repeat of an earlier deletion does not take back the later one.
    await forgetUser(own, 'ann', requestedAt - 1_000);
    expect(await remember(own, { sessionId: 'x', startedAtMs: BigInt(requestedAt - 1) })).toBe(false);
  });
});

it('a transfer brings along nothing that a deletion meanwhile covers, and what the user did after it', async () => {
  const [own, target] = [memory.makeTenant(), memory.makeTenant()];
  const ann = own.acting('ann');
  const graph = new GraphClient(memory, own, ann);
  await memory.put(own, 'before', 'Of before.', ann);
  await graph.things('before');
  await setTimeout(2);
  const requestedAt = Date.now();
  await setTimeout(2);
  await memory.put(own, 'after', 'Later.', ann);
  await graph.things('after', 'end');
  await graph.link('after>end');
  const peer = await memory.participant('tenant');
  const agent = { ref: { type: 'agent', id: own.agentId }, name: 'a', revision: '', action: 'copy' };
  const transfer = {
    ...{ id: newId(), mode: 'copy', sourceTenantId: own.id, targetTenantId: target.id, withSecrets: false },
    ...{ includeMemory: true, includeKnowledgeGraph: true },
    items: [{ ...agent, targetId: target.agentId, targetName: 'a' }],
  };
  const complete = async (step: string): Promise<void> => {
    while (!(await peer.call('runStep', { transfer, step }, deadline)).completed);
  };
  await complete('lock');
  await complete('copy');
  await expect(forgetUser(own, 'ann', requestedAt)).rejects.toMatchObject({ code: 'resource_locked' });
  await complete('commit');
  const of = async (columns: string): Promise<unknown[]> =>
    memory.rows(`select ${columns} where tenant_id = $1 order by 1`, [target.id]);
  expect(await of('path from memory.documents')).toEqual([{ path: 'after' }]);
  const kept = [{ external_id: 'after' }, { external_id: 'end' }];
  expect(await of('external_id from memory.entities')).toEqual(kept);
  expect(await of('type from memory.relations')).toHaveLength(1);
  expect(await of('user_id from memory.scopes')).toEqual([{ user_id: 'ann' }]);
});

it('GetUsage returns what a tenant uses', async () => {
  const own = memory.makeTenant();
  const usage = async () => (await memory.peer('tenant')).call('getUsage', { tenantId: own.id }, deadline);
  expect(await usage()).toEqual({ documents: 0n, bytes: 0n, entities: 0n });
  await memory.put(own, 'a', 'four');
  await memory.put(own, 'a', 'seven!!', own.acting('ann'));
  expect(await usage()).toEqual({ documents: 2n, bytes: 16n, entities: 0n });
});
