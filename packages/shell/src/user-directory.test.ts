import { hash } from 'node:crypto';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { ChangeWatch } from '@gatehouse/kit/change-watch';
import { AppError } from '@gatehouse/kit/errors';
import type { DirectoryUser as SentUser, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import type { RpcClient } from '@gatehouse/grpc/client';
import { UserDirectory } from './user-directory.ts';

/** A directory beside a tenant service whose answers and changes the test sets. */
function directory() {
  const state = {
    users: new Map<string, SentUser>(),
    asked: [] as string[],
    subjects: [] as string[],
    isDown: false,
  };
  const changes = new ChangeWatch({
    list: () => Promise.resolve({ position: '1', startsOver: false, subjects: state.subjects.splice(0) }),
    everyMs: 5,
  });
  const peer = {
    call: (_: string, { tenantId, name }: { tenantId: string; name: string }) => {
      state.asked.push(`${tenantId} ${name}`);
      if (state.isDown) return Promise.reject(new AppError('service_unavailable', 'Down.'));
      return Promise.resolve({ user: state.users.get(`${tenantId} ${name.toLowerCase()}`) });
    },
  };
  const users = new UserDirectory(peer as unknown as RpcClient<TenantServiceClient>, changes);
  return { state, changes, users };
}

afterEach(() => {
  jest.restoreAllMocks();
});

const ada = { id: 'u1', userId: 'ada', blocked: false, groups: [{ id: 'g1', name: 'Engineering' }] };

describe('a directory of users', () => {
  it('asks once for a name in any case, and apart for each tenant', async () => {
    const { state, users } = directory();
    state.users.set('t1 ada', ada);
    expect(await users.find('t1', 'Ada')).toMatchObject({ userId: 'ada', groups: ada.groups });
    expect(await users.find('t1', 'ADA')).toMatchObject({ userId: 'ada' });
    expect(await users.find('t2', 'ada')).toBeNull();
    expect(await users.find('t2', 'ada')).toBeNull();
    expect(state.asked).toEqual(['t1 Ada', 't2 ada']);
    expect(await users.idOf('t2', 'ada')).toBe('ada');
  });

  it.each(['u1', 'g1', 't1', 'name'])('forgets a user when %s changes', async (subject) => {
    const { state, changes, users } = directory();
    state.users.set('t1 ada', ada);
    changes.start();
    try {
      await users.find('t1', 'ada');
      state.users.set('t1 ada', { ...ada, blocked: true });
      state.subjects.push(subject === 'name' ? hash('sha256', 't1 ada') : subject);
      await eventually(async () => {
        await expect((async () => users.find('t1', 'ada'))()).rejects.toMatchObject({ code: 'user_blocked' });
      });
      // Its id is known to those who store something of a blocked user.
      expect(await users.idOf('t1', 'ada')).toBe('ada');
    } finally {
      await changes.stop();
    }
  });

  it('has memory for users that names outside the directory do not use, nor other tenants', async () => {
    // Answers stay fresh.
    jest.spyOn(performance, 'now').mockReturnValue(1_000_000);
    const { state, users } = directory();
    state.users.set('t1 ada', ada);
    await users.find('t1', 'ada');
    // More than the memory of each kind holds.
    const groups = Array.from({ length: 100 }, (_, index) => ({ id: `g${index}`, name: 'x'.repeat(256) }));
    for (let index = 0; index < 700; index += 1) state.users.set(`t2 u${index}`, { ...ada, groups });
    for (let index = 0; index < 50_000; index += 1) await users.find(index < 700 ? 't2' : 't1', `u${index}`);
    const asked = state.asked.length;
    await users.find('t1', 'ada');
    expect(state.asked).toHaveLength(asked);
    await users.find('t1', 'u700');
    await users.find('t2', 'u0');
    expect(state.asked).toHaveLength(asked + 2);
  });

  it('throws what the tenant service throws for a name that it does not know', async () => {
    const { state, users } = directory();
    state.isDown = true;
    await expect(users.find('t1', 'ada')).rejects.toMatchObject({ code: 'service_unavailable' });
  });
});
