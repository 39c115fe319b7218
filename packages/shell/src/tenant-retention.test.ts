import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChangeWatch } from '@gatehouse/kit/change-watch';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { tenantSettings } from '@gatehouse/test/tenant-rpcs';
import { TenantRetention } from './tenant-retention.ts';

const tenantId = newId();
let calls = 0;
let answer: () => number;
let subjects: readonly string[] = [];
let changes: ChangeWatch;
let retention: TenantRetention;

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
  retention = new TenantRetention({ call } as ConstructorParameters<typeof TenantRetention>[0], changes);
});
afterEach(() => changes.stop());

describe('the retention of a tenant', () => {
  it('is asked for once while the watch knows of no change, and again after one', async () => {
    await eventually(async () => {
      const before = calls;
      expect(await retention.daysOf(tenantId)).toBe(7);
      expect(calls).toBe(before);
    });
    answer = () => 30;
    subjects = [tenantId];
    await eventually(async () => expect(await retention.daysOf(tenantId)).toBe(30));
  });

  it('is 90 days of a deleted tenant, and unknown where it is not said', async () => {
    answer = () => 0;
    expect(await retention.daysOf(tenantId)).toBeNull();
    answer = () => {
      throw new AppError('not_found', 'No such tenant.');
    };
    expect(await retention.daysOf(newId())).toBe(90);
  });

  it('is no earlier one during an outage', async () => {
    expect(await retention.daysOf(tenantId)).toBe(7);
    await changes.stop();
    answer = () => {
      throw new AppError('service_unavailable', 'Away.');
    };
    subjects = [tenantId];
    await eventually(
      () => expect(retention.daysOf(tenantId)).rejects.toMatchObject({ code: 'service_unavailable' }),
      60_000,
    );
  });
});
