import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { makePrincipal } from '@gatehouse/test/identity';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { maxStops } from '../src/bounds.ts';
import { isOpen, silent, StopGround } from './stop-ground.ts';
import type { Fields } from './translated-answers.ts';

let ground: StopGround;
beforeAll(async () => {
  ground = await StopGround.start();
});
afterAll(() => ground.close());
beforeEach(() => {
  ground.admin = makePrincipal();
});

describe('a key of a user', () => {
  const user = (): Partial<Principal> => ({
    ...ground.admin,
    role: 'user',
    scopes: ['chat', 'runs.write'],
    userId: 'ada',
  });

  it('stops runs of its own user alone', async () => {
    ground.provider.answer(silent(), silent());
    const mine = await ground.stream({ principal: user(), session: 'shared' });
    const other = await ground.stream({ principal: { ...ground.admin, userId: 'bob' }, session: 'shared' });
    await ground.stopped({ session_id: 'shared' }, user());
    expect(await mine.rest).toContain('The run was stopped.');
    expect(isOpen(other.call)).toBe(true);
    const foreign = await ground.stop({ run_id: other.runId }, user());
    expect([foreign.status, await foreign.json()]).toMatchObject([
      404,
      { error: { code: 'not_found', param: 'run_id' } },
    ]);
    await ground.stopped({ run_id: other.runId });
    expect(await other.rest).toContain('The run was stopped.');
  });

  it('can name no other user, and needs one', async () => {
    const named = await ground.stop({ user_id: 'bob' }, user());
    expect([named.status, await named.json()]).toMatchObject([403, { error: { code: 'user_mismatch' } }]);
    const unnamed = await ground.stop({ session_id: 's' }, { ...user(), userId: null });
    expect([unnamed.status, await unnamed.json()]).toMatchObject([
      400,
      { error: { code: 'acting_user_required' } },
    ]);
  });

  it('needs the scope', async () => {
    const response = await ground.stop({ user_id: 'ada' }, { ...ground.admin, scopes: ['chat'] });
    expect([response.status, await response.json()]).toMatchObject([
      403,
      { error: { code: 'scope_missing' } },
    ]);
  });
});

describe('a stop', () => {
  it.each<[string, Fields]>([
    ['no selector', { reason: 'x' }],
    ['two selectors', { user_id: 'ada', session_id: 's' }],
    ['a hold of more than a day', { user_id: 'ada', hold_seconds: 86_401 }],
    ['an unknown member', { user: 'ada' }],
  ])('with %s is refused', async (_what, body) => {
    expect((await ground.stop(body)).status).toBe(400);
  });

  it('of an unknown run, or one of another tenant, is a 404', async () => {
    ground.provider.answer(silent());
    const open = await ground.stream();
    const answers = [
      await ground.stop({ run_id: newId() }),
      await ground.stop({ run_id: open.runId }, makePrincipal()),
    ];
    for (const answer of answers)
      expect([answer.status, await answer.json()]).toMatchObject([404, { error: { code: 'not_found' } }]);
    expect(isOpen(open.call)).toBe(true);
    await ground.stopped({ run_id: open.runId });
    await open.rest;
  });

  it('is in the audit log with its reason; its names are nowhere else', async () => {
    await ground.stopped(
      { session_id: 'secret-session', reason: 'Loops.' },
      { ...ground.admin, userId: null },
    );
    const [entry] = await ground.harness.rows(`select entry from chat.audit_outbox where tenant_id = $1`, [
      ground.admin.tenantId,
    ]);
    expect(entry?.['entry']).toMatchObject({
      action: 'run.stopped',
      before: null,
      after: { session_id: 'secret-session', reason: 'Loops.', hold_until: expect.any(String) },
    });
    const rows = await ground.harness.rows(
      'select s::text as row from chat.run_stops s where tenant_id = $1',
      [ground.admin.tenantId],
    );
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain('secret-session');
  });

  it('changes nothing as a dry run', async () => {
    ground.provider.answer(silent());
    const open = await ground.stream({ session: 'loops' });
    const response = await ground.stop({ session_id: 'loops' }, ground.admin, '?dry_run=true');
    expect([response.status, await response.json()]).toEqual([202, { hold_until: expect.any(String) }]);
    const tables = ['run_stops', 'audit_outbox'];
    for (const table of tables)
      expect(
        await ground.harness.rows(`select from chat.${table} where tenant_id = $1`, [ground.admin.tenantId]),
      ).toEqual([]);
    expect(isOpen(open.call)).toBe(true);
    await ground.stopped({ session_id: 'loops' });
    await open.rest;
  });

  it('is refused beside too many in force, unless it selects the same runs', async () => {
    await ground.harness.rows(
      `insert into chat.run_stops (id, tenant_id, selection, digest, stopped_at, hold_until, expires_at)
       select gen_random_uuid(), $1, 'user', sha256(n::text::bytea), now(), now() + '1 hour', now() + '1 hour'
       from generate_series(1, $2) as n`,
      [ground.admin.tenantId, maxStops - 1],
    );
    await ground.stopped({ session_id: 'last' });
    const more = await ground.stop({ session_id: 'more' });
    expect([more.status, await more.json()]).toMatchObject([403, { error: { code: 'limit_reached' } }]);
    await ground.stopped({ session_id: 'last', hold_seconds: 90 });
  });
});
