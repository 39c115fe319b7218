import { expect, it } from '@jest/globals';
import type { RpcClient } from '@gatehouse/grpc/client';
import { requestContext } from '@gatehouse/http/request-context';
import type { AuthenticatedKey, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { CarriedKey } from './key-reader.ts';
import { KeyClient } from './key-client.ts';

it.each([
  [false, ['public', 'tenant']],
  [true, ['public', 'tenant']],
  [undefined, null],
])('relies on changes of a key of a tenant service that knows users: %s', async (hasUsers, subjects) => {
  const value: AuthenticatedKey = {
    ...{
      id: 'key',
      tenantId: 'tenant',
      tenantSlug: 'tenant',
      tenantStatus: 'active',
      role: 'user',
      scopes: [],
    },
    hasUsers,
  };
  const call = () => Promise.resolve({ result: { $case: 'key', value } });
  const client = new KeyClient({ call } as unknown as RpcClient<TenantServiceClient>);
  const carried = { keyId: 'public' } as CarriedKey;
  expect(await client.checkKey(carried, true, requestContext({ headers: {} } as never))).toMatchObject({
    subjects,
  });
});
