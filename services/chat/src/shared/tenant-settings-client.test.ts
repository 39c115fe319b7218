import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChangeWatch } from '@gatehouse/kit/change-watch';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { eventually } from '@gatehouse/test/eventually';
import { tenantSettings } from '@gatehouse/test/tenant-rpcs';
import { TenantSettingsClient } from './tenant-settings-client.ts';

const tenantId = newId();
const keyRing = KeyRing.parse(newKeyRing('k1'));
let calls = 0;
let answer: () => number;
let subjects: readonly string[] = [];
let changes: ChangeWatch;
let client: TenantSettingsClient;

beforeEach(() => {
  calls = 0;
  answer = () => 7;
  subjects = [];
  let position = 0;
  changes = new ChangeWatch({
    everyMs: 5,
    list: async () => ({ position: String((position += 1)), startsOver: position === 1, subjects }),
  });
  changes.start();
  const call = async (): Promise<unknown> => {
    calls += 1;
    return tenantSettings({ retentionDays: answer() });
  };
  // Every call of these tests is `getTenantSettings`.
  client = new TenantSettingsClient({ call } as ConstructorParameters<typeof TenantSettingsClient>[0], {
    changes,
    keyRing,
  });
});
afterEach(() => changes.stop());

describe('the retention of a tenant', () => {
  it('is asked for once while the watch knows of no change, and again after one', async () => {
    await eventually(async () => {
      const before = calls;
      expect(await client.retentionDays(tenantId)).toBe(7);
      expect(calls).toBe(before);
    });
    answer = () => 30;
    subjects = [tenantId];
    await eventually(async () => expect(await client.retentionDays(tenantId)).toBe(30));
  });

  it('is 90 days of a deleted tenant, and unknown where it is not said', async () => {
    answer = () => 0;
    expect(await client.retentionDays(tenantId)).toBeNull();
    answer = () => {
      throw new AppError('not_found', 'No such tenant.');
    };
    expect(await client.retentionDays(newId())).toBe(90);
  });

  it('is no earlier one during an outage', async () => {
    expect(await client.retentionDays(tenantId)).toBe(7);
    await changes.stop();
    answer = () => {
      throw new AppError('service_unavailable', 'Away.');
    };
    subjects = [tenantId];
    await eventually(
      () => expect(client.retentionDays(tenantId)).rejects.toMatchObject({ code: 'service_unavailable' }),
      60_000,
    );
  });
});
