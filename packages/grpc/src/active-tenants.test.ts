import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ChangeWatch } from '@gatehouse/kit/change-watch';
import { ActiveTenants } from './active-tenants.ts';

let now = 1_000_000;
beforeEach(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** Settings that count their loads, and the state of the watch. */
function setUp({ isPartial = false } = {}) {
  const changes = new ChangeWatch({ list: () => Promise.reject(new Error('not asked')) });
  const stateOf = jest.spyOn(changes, 'stateOf').mockReturnValue('current');
  let loads = 0;
  const load = async () => ({
    settings: (loads += 1),
    status: loads < 3 ? 'active' : 'suspended',
    isPartial,
  });
  return { stateOf, tenants: new ActiveTenants<number>({ load, changes }) };
}

it('loads the settings of a tenant again when they have changed, and not before', async () => {
  const { stateOf, tenants } = setUp();
  expect(await tenants.get('t')).toBe(1);
  now += 60_000;
  expect(tenants.peek('t')).toBe(1);
  expect(stateOf).toHaveBeenLastCalledWith(['t'], expect.any(Number));
  stateOf.mockReturnValue('changed');
  expect(await tenants.get('t')).toBe(2);
  await expect(tenants.get('t')).rejects.toMatchObject({ code: 'tenant_suspended' });
});

it('loads them every second while no changes are heard', async () => {
  const { stateOf, tenants } = setUp();
  stateOf.mockReturnValue('unknown');
  expect(await tenants.get('t')).toBe(1);
  now += 999;
  expect(await tenants.get('t')).toBe(1);
  now += 1;
  expect(await tenants.get('t')).toBe(2);
});

it('loads them every second while the release before sends them, whose changes are not relied on', async () => {
  const { tenants } = setUp({ isPartial: true });
  expect(await tenants.get('t')).toBe(1);
  now += 999;
  expect(tenants.peek('t')).toBe(1);
  now += 1;
  expect(tenants.peek('t')).toBeUndefined();
});
