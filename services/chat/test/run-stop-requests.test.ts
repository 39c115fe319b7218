import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { makePrincipal } from '@gatehouse/test/identity';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { maxStops, stopsPerMinute } from '../src/bounds.ts';
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

const user = (userId: string | null = 'ada'): Partial<Principal> => ({
  ...ground.admin,
  role: 'user',
  scopes: ['chat', 'runs.write'],
  userId,
});

/** Adds stops in force of sessions. `users`: their senders, in turn; empty for an administrator. */
const addStops = (count: number, users: readonly string[] = []): Promise<unknown> =>
  ground.harness.rows(
    `insert into chat.run_stops
       (id, tenant_id, selection, digest, sender_digest, requests, stopped_at, hold_until, expires_at)
     select gen_random_uuid(), $1, 'session', sha256(gen_random_uuid()::text::bytea),
       sha256(($3::text[])[1 + n % greatest(cardinality($3::text[]), 1)]::bytea),
       1, now() - interval '1 minute', now() + interval '1 hour', now() + interval '1 hour'
     from generate_series(1, $2) as n`,
    [ground.admin.tenantId, count, users],
  );

const answerTo = async (body: Fields, principal?: Partial<Principal>): Promise<unknown[]> => {
  const response = await ground.stop(body, principal);
  const { error } = (await response.json()) as { error?: { code: string } };
  return [response.status, error?.code];
};

describe('a key of a user', () => {
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
    const unnamed = await ground.stop({ session_id: 's' }, user(null));
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
    await addStops(maxStops.ofTenant - 1);
    await ground.stopped({ session_id: 'last' });
    expect(await answerTo({ session_id: 'more' })).toEqual([403, 'limit_reached']);
    await ground.stopped({ session_id: 'last', hold_seconds: 90 });
  });
});

describe('stops of users', () => {
  it('leave those of others and of administrators alone', async () => {
    for (let sent = 0; sent < maxStops.ofUser; sent += 1)
      await ground.stopped({ session_id: `invented-${sent}` }, user());
    expect(await answerTo({ session_id: 'one-more' }, user())).toEqual([403, 'limit_reached']);
    await ground.stopped({ session_id: 'invented-0' }, user());
    await ground.stopped({ user_id: 'ada' }, user());
    await ground.stopped({ session_id: 'one-more' }, user('bob'));
    await ground.stopped({ session_id: 'one-more' });
  });

  it('fill half of a tenant together', async () => {
    await addStops(maxStops.ofUsers - 1, ['carol', 'dan', 'erin', 'frank', 'grace']);
    await ground.stopped({ session_id: 's' }, user());
    expect(await answerTo({ session_id: 's' }, user('bob'))).toEqual([403, 'limit_reached']);
    for (const session_id of ['s', 'another']) await ground.stopped({ session_id });
  });

  it('for all runs of the user are shut out by no stops of others, and take no place of theirs', async () => {
    await addStops(maxStops.ofTenant - 1, ['carol', 'dan', 'erin', 'frank', 'grace']);
    await ground.harness.rows(
      `update chat.run_stops set requests = $2, stopped_at = now() + interval '1 hour' where tenant_id = $1`,
      [ground.admin.tenantId, stopsPerMinute.ofUsers],
    );
    const refused = [429, 'rate_limit_exceeded'];
    expect(await answerTo({ session_id: 's' }, user('bob'))).toEqual(refused);
    for (const name of ['ada', 'bob']) await ground.stopped({ user_id: name }, user(name));
    // The same again counts with the requests of others.
    expect(await answerTo({ user_id: 'bob' }, user('bob'))).toEqual(refused);
    await ground.stopped({ session_id: 's' });
    expect(await answerTo({ session_id: 'another' })).toEqual([403, 'limit_reached']);
  });

  it('for all runs of a user have a bound of their own', async () => {
    await addStops(maxStops.allOfUser - 1, ['carol']);
    await ground.harness.rows(`update chat.run_stops set selection = 'user' where tenant_id = $1`, [
      ground.admin.tenantId,
    ]);
    await ground.stopped({ user_id: 'ada' }, user('ada'));
    expect(await answerTo({ user_id: 'bob' }, user('bob'))).toEqual([403, 'limit_reached']);
    await ground.stopped({ user_id: 'ada' }, user('ada'));
    await ground.stopped({ session_id: 's' }, user('bob'));
    await ground.stopped({ user_id: 'bob' });
  });

  it('end at the bound of the tenant, too', async () => {
    await addStops(maxStops.ofTenant);
    expect(await answerTo({ session_id: 's' }, user())).toEqual([403, 'limit_reached']);
  });

  it('are stored up to the bound when they come at once', async () => {
    const sent = Array.from({ length: 2 * maxStops.ofUser }, (_, index) =>
      answerTo({ session_id: `s${index}` }, user()),
    );
    const stored = (await Promise.all(sent)).filter(([status]) => status === 202);
    expect(stored).toHaveLength(maxStops.ofUser);
  });

  it('hold as long as the longest of all senders', async () => {
    const held = async (holdSeconds: number, principal?: Partial<Principal>): Promise<unknown> => {
      const response = await ground.stop(
        { user_id: 'ada', hold_seconds: holdSeconds },
        principal ?? ground.admin,
      );
      return ((await response.json()) as { hold_until: unknown }).hold_until;
    };
    const longest = await held(3_600);
    expect(await held(60, user())).toBe(longest);
    expect(await held(60)).toBe(longest);
  });

  it('have a rate, also of the same runs again', async () => {
    const { tenantId } = ground.admin;
    // Later than the minute of the test, at any time.
    const setRequests = (requests: number, at = `now() + interval '1 hour'`): Promise<unknown> =>
      ground.harness.rows(
        `update chat.run_stops set requests = $2, stopped_at = ${at} where tenant_id = $1`,
        [...[tenantId, requests]],
      );
    const again = (principal?: Partial<Principal>) => answerTo({ session_id: 's' }, principal);
    const accepted = [202, undefined];
    expect(await again(user())).toEqual(accepted);
    await setRequests(stopsPerMinute.ofUser - 1);
    expect(await again(user())).toEqual(accepted);
    const rows = await ground.harness.rows(`select requests from chat.run_stops where tenant_id = $1`, [
      tenantId,
    ]);
    expect(rows).toEqual([{ requests: stopsPerMinute.ofUser }]);
    await setRequests(stopsPerMinute.ofUser);
    expect(await again(user())).toEqual([429, 'rate_limit_exceeded']);
    expect(await again(user('bob'))).toEqual(accepted);
    await setRequests(stopsPerMinute.ofUsers);
    expect(await again(user('bob'))).toEqual([429, 'rate_limit_exceeded']);
    expect(await again()).toEqual(accepted);
    await setRequests(stopsPerMinute.ofUsers, `now() - interval '1 minute'`);
    expect(await again(user())).toEqual(accepted);
  });
});
