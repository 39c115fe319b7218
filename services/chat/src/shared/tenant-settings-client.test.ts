import { afterEach, expect, it } from '@jest/globals';
import { ChangeWatch } from '@gatehouse/kit/change-watch';
import { monotonicMs } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { eventually } from '@gatehouse/test/eventually';
import { tenantSettings } from '@gatehouse/test/tenant-rpcs';
import { TenantSettingsClient } from './tenant-settings-client.ts';

const tenantId = newId();
const changes = new ChangeWatch({
  everyMs: 5,
  list: async (position) => ({ position: 'later', startsOver: position === '', subjects: [] }),
});
afterEach(() => changes.stop());

it('settings that the previous release sends are asked for again within seconds, without a change', async () => {
  let calls = 0;
  // Every call of this test is `getTenantSettings`.
  const call = async (): Promise<unknown> => {
    calls += 1;
    return tenantSettings({ actingUsers: '' });
  };
  const client = new TenantSettingsClient({ call } as ConstructorParameters<typeof TenantSettingsClient>[0], {
    changes,
    keyRing: KeyRing.parse(newKeyRing('k1')),
  });
  changes.start();
  await eventually(() => expect(changes.stateOf([tenantId], monotonicMs())).toBe('current'));
  await client.getForTenant(tenantId);
  await eventually(async () => {
    await client.getForTenant(tenantId);
    expect(calls).toBeGreaterThan(1);
  }, 15_000);
});
