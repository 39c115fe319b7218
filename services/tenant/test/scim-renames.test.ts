import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ScimClient } from './scim-client.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

let service: TenantServiceUnderTest;
let scim: ScimClient;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  scim = new ScimClient(service, await service.makeTenant());
});
afterAll(() => service.stop());

describe('a user renamed again and again', () => {
  const renamed = (id: unknown, index: number): Promise<unknown> =>
    scim.patch(`/Users/${String(id)}`, {
      op: 'replace',
      path: 'userName',
      value: `kim-${index}@corp.example`,
    });

  it('loses the name before where there are too many', async () => {
    const { id } = await scim.add('Users', { externalId: 'oid-kim', userName: 'kim-0@corp.example' });
    for (let index = 1; index < 12; index += 1)
      expect(await renamed(id, index)).toMatchObject({ status: 200 });
    const kept = [0, 1, 2, 3, 4, 5, 6, 11].map((index) => `kim-${index}@corp.example`);
    const { aliases } = await scim.user('oid-kim');
    expect(aliases).toEqual(kept.toSorted());
  });

  it('keeps all aliases that the API gave', async () => {
    const aliases = Array.from({ length: 6 }, (_, index) => `given-${index}`);
    await scim.put('lee', { aliases: [...aliases, 'lee@corp.example'] });
    const { id } = await scim.add('Users', { externalId: 'oid-lee', userName: 'lee@corp.example' });
    expect(await renamed(id, 99)).toMatchObject({ status: 200 });
    expect(await scim.user('lee')).toMatchObject({ aliases: [...aliases, 'kim-99@corp.example', 'oid-lee'] });
  });
});
