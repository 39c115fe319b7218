import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { whole } from './scripted-provider.ts';
import { isOpen, silent, StopGround } from './stop-ground.ts';
import { completion } from './translated-answers.ts';

let ground: StopGround;
beforeAll(async () => {
  ground = await StopGround.start();
});
afterAll(() => ground.close());
beforeEach(() => {
  ground.admin = makePrincipal();
  ground.harness.settings.set(ground.admin.tenantId ?? '', { hasUsers: true });
  for (const name of ['ada', 'bob']) know(name, { userId: name });
});

/** Makes a name one of a user's directory entry in the tenant. */
function know(
  name: string,
  { userId = name, blocked = false }: { userId?: string; blocked?: boolean },
): void {
  const user = { id: newId(), userId, blocked, groups: [] };
  ground.harness.users.set(`${ground.admin.tenantId ?? ''} ${name}`, user);
}

const as = (userId: string) => ({ ...ground.admin, userId });

it('runs of a user who is blocked end on every replica, and no others', async () => {
  ground.provider.answer(silent(), silent(), silent(), silent());
  const ends = [
    await ground.stream({ principal: as('ada') }),
    await ground.stream({ principal: as('ada'), url: ground.harness.url }),
  ];
  const bob = await ground.stream({ principal: as('bob') });
  // Another tenant's, without a directory.
  const other = await ground.stream({ principal: { ...makePrincipal(), userId: 'ada' } });
  know('ada', { blocked: true });
  for (const { rest, runId, call } of ends) {
    expect(await rest).toContain('The run was stopped.');
    expect(await ground.harness.endedRun(runId)).toMatchObject({
      ...{ status: 'cancelled', error_type: 'stopped', user_id: 'ada', usage_estimated: true },
    });
    await eventually(() => expect(isOpen(call)).toBe(false));
  }
  for (const url of [ground.second, ground.harness.url]) {
    const next = await ground.send({ principal: as('ada'), url });
    expect([next.status, await next.json()]).toMatchObject([403, { error: { code: 'user_blocked' } }]);
  }
  for (const { call, rest } of [bob, other]) {
    expect(isOpen(call)).toBe(true);
    call.response.destroy();
    expect(await rest).not.toContain('The run was stopped.');
  }
});

it('a stop names a user by an alias, also for a key of that user', async () => {
  know('ada@example.com', { userId: 'ada' });
  const stops: Partial<Principal>[] = [
    ground.admin,
    { ...as('ada'), role: 'user', scopes: ['chat', 'runs.write'] },
  ];
  for (const principal of stops) {
    ground.provider.answer(silent());
    const open = await ground.stream({ principal: as('ada') });
    await ground.stopped({ user_id: 'ADA@example.com', hold_seconds: 0 }, principal);
    expect(await open.rest).toContain('The run was stopped.');
  }
  const foreign = await ground.stop({ user_id: 'bob' }, as('ada'));
  expect([foreign.status, await foreign.json()]).toMatchObject([403, { error: { code: 'user_mismatch' } }]);
  ground.provider.answer(whole(completion({ content: 'x' })));
  expect((await ground.send({ principal: as('ada'), fields: { stream: false } })).status).toBe(200);
});
