import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { As } from '@gatehouse/test/service-under-test';
import { eventually } from '@gatehouse/test/eventually';
import fc from 'fast-check';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
let tenant: TestTenant;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
  tenant = memory.makeTenant();
  await memory.put(tenant, 'shared', 'A duck of everyone.');
  await memory.put(tenant, 'notes', 'A duck of Ann.', tenant.acting('ann'));
  await memory.put(tenant, 'notes', 'A duck of Bob.', tenant.acting('bob'));
});
afterAll(() => memory.stop());

const textsFor = async (as: As, query = 'duck'): Promise<string[]> =>
  (await memory.search(tenant, { query, limit: 50 }, as)).body.results.map(({ text }) => text).sort();

const refusal = async (method: string, path: string, as: As, body?: object) => {
  const answer = await memory.call(method, `${tenant.base}${path}`, { as, ...(body && { body }) });
  return [answer.status, answer.body.error.code];
};

describe('a caller', () => {
  it('sees what belongs to the agent and to its acting user', async () => {
    expect(await textsFor(tenant.acting('ann'))).toEqual(['A duck of Ann.', 'A duck of everyone.']);
    expect(await textsFor(tenant.acting('bob'))).toEqual(['A duck of Bob.', 'A duck of everyone.']);
    for (const as of [tenant.admin, tenant.user, tenant.acting('cid')])
      expect(await textsFor(as)).toEqual(['A duck of everyone.']);
    expect((await memory.get(tenant, 'notes', tenant.acting('ann'))).body.text).toBe('A duck of Ann.');
    expect((await memory.get(tenant, 'notes')).status).toBe(404);
    expect(await memory.stats(tenant, tenant.acting('bob'))).toMatchObject({ documents: 2 });
    expect(await memory.stats(tenant)).toMatchObject({ documents: 1 });
  });

  it('gets its own document where the agent has one with the same path', async () => {
    await memory.put(tenant, 'both', 'of the agent');
    await memory.put(tenant, 'both', 'of Ann', tenant.acting('ann'));
    expect((await memory.get(tenant, 'both', tenant.acting('ann'))).body.text).toBe('of Ann');
    expect((await memory.get(tenant, 'both', tenant.acting('bob'))).body.text).toBe('of the agent');
  });

  it('writes for the agent only with the scope for it, and for a user only as that user', async () => {
    const put = { text: 'x' };
    const path = '/memory/documents/shared';
    expect(await refusal('PUT', path, tenant.user, put)).toEqual([403, 'scope_missing']);
    expect(await refusal('DELETE', path, tenant.user)).toEqual([403, 'scope_missing']);
    expect(await refusal('PUT', path, tenant.acting('ann'), { ...put, scope: 'agent' })).toEqual([
      403,
      'user_mismatch',
    ]);
    expect(await refusal('DELETE', path, tenant.acting('ann'))).toEqual([404, 'not_found']);
    expect((await memory.get(tenant, 'shared')).body.text).toBe('A duck of everyone.');
  });

  it('of another tenant meets an agent that does not exist', async () => {
    const stranger = memory.makeTenant();
    for (const [method, path, body] of [
      ['GET', '/memory/stats'],
      ['GET', '/memory/documents'],
      ['GET', '/memory/documents/shared'],
      ['DELETE', '/memory/documents/shared'],
      ['PUT', '/memory/documents/shared', { text: 'x' }],
      ['POST', '/memory/search', { query: 'duck' }],
      ['POST', '/memory/forget', { path_prefix: 's' }],
    ] as const)
      expect(await refusal(method, path, stranger.admin, body)).toEqual([404, 'not_found']);
  });
});

describe('forgetting', () => {
  it('removes what matches, of the acting user only, with a receipt', async () => {
    const own = memory.makeTenant();
    const forget = async (as: As, body: object) => {
      const answer = await memory.call('POST', `${own.base}/memory/forget`, { as, body });
      return answer.status === 200 ? answer.body.documents : answer.body.error.code;
    };
    for (const user of ['ann', 'bob']) {
      await memory.put(own, 'a/1', `secret of ${user}`, own.acting(user));
      await memory.put(own, 'b/1', `secret of ${user}`, own.acting(user));
    }
    await memory.put(own, 'a/1', 'secret of the agent');
    expect(await forget(own.acting('ann'), { user_id: 'bob' })).toBe('user_mismatch');
    expect(await forget(own.user, { user_id: 'bob' })).toBe('scope_missing');
    expect(await forget(own.acting('ann'), {})).toBe('missing_required_parameter');
    expect(await forget(own.acting('ann'), { path_prefix: 'a/' })).toBe(1);
    expect(await forget(own.acting('ann'), { path_prefix: 'a/' })).toBe(0);
    expect(await forget(own.admin, { user_id: 'bob' })).toBe(2);
    expect(await forget(own.admin, { path_prefix: 'a' })).toBe(1);
    expect(await forget(own.admin, { session_id: 'none' })).toBe(0);
    expect(await memory.pathsFor(own, 'secret', own.acting('ann'))).toEqual(['b/1']);
    expect(await forget(own.acting('ann'), { user_id: 'ann' })).toBe(1);
    for (const table of ['documents', 'chunks', 'postings'])
      expect(await memory.rows(`select 1 from memory.${table} where tenant_id = $1`, [own.id])).toEqual([]);
  });
});

describe('forgetting by the name of a user', () => {
  it('finds what is stored under the id, in the directory of the tenant alone', async () => {
    const own = memory.makeTenant();
    memory.tenant.users.set(`${own.id} ann@example.com`, { userId: 'ann', blocked: true });
    await memory.put(own, 'a', 'secret', own.acting('ann'));
    const forget = async (as: As) => {
      const body = { user_id: 'ANN@example.com' };
      const answer = await memory.call('POST', `${own.base}/memory/forget`, { as, body });
      return answer.status === 200 ? answer.body.documents : answer.body.error.code;
    };
    expect(await forget(own.admin)).toBe(0);
    expect(await forget({ ...own.acting('bob'), hasUsers: true })).toBe('user_mismatch');
    expect(await forget({ ...own.acting('ann'), hasUsers: true })).toBe(1);
    await memory.put(own, 'a', 'secret', own.acting('ann'));
    expect(await forget({ ...own.admin, hasUsers: true })).toBe(1);
  });
});

describe('the audit log', () => {
  it('has no entry for nothing done, nor for the own memory of a user, who could fill it', async () => {
    const own = memory.makeTenant();
    const ann = own.acting('ann');
    const entries = () => memory.tenant.entries.filter(({ tenant_id: id }) => id === own.id);
    const post = (path: string, as: As, body: object) =>
      memory.call('POST', `${own.base}/${path}`, { as, body });
    await memory.put(own, 'p', 'Of Ann.', ann);
    for (let repeat = 0; repeat < 3; repeat += 1) {
      await post('memory/forget', ann, { path_prefix: 'p' });
      await post('memory/forget', own.admin, { path_prefix: 'none' });
      await post('kg/entities', ann, { entities: [{ name: 'Ann', type: 'person' }] });
    }
    await memory.put(own, 'p', 'Of the agent.');
    await post('memory/forget', own.admin, { path_prefix: 'p' });
    // The outbox keeps the order, so the last entry shows that there is no other.
    await eventually(() =>
      expect(entries().map(({ action }) => action)).toEqual(['memory_document.created', 'memory.forgotten']),
    );
    expect(entries()[1]).toMatchObject({ before: { documents: 1 }, after: null });
  });
});

describe('random users, scopes and queries', () => {
  it('never meet a passage of another user', async () => {
    const own = memory.makeTenant();
    const users = ['', 'u1', 'u2', 'u3'];
    const words = ['alpha', 'beta', 'gamma', 'delta'];
    const as = (user: string): As => (user === '' ? own.admin : own.acting(user));
    const steps = fc.array(
      fc.record({
        user: fc.constantFrom(...users),
        path: fc.constantFrom('p', 'q', 'r'),
        words: fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 5 }),
        query: fc.constantFrom(...words),
      }),
      { minLength: 1, maxLength: 8 },
    );
    const stored = new Map<string, string>();
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        for (const { user, path, words: content, query } of taken) {
          const text = `${content.join(' ')} owner${user}`;
          await memory.put(own, path, text, as(user));
          stored.set(`${user}/${path}`, text);
          const expected = [...stored]
            .filter(
              ([key, held]) => [`/`, `${user}/`].includes(`${key.split('/')[0]}/`) && held.includes(query),
            )
            .map(([, held]) => held)
            .sort();
          const found = (await memory.search(own, { query, limit: 50 }, as(user))).body.results;
          expect(found.map((passage) => passage.text).sort()).toEqual(expected);
        }
      }),
      { numRuns: 15 },
    );
  });
});
