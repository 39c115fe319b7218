import { expect, it } from '@jest/globals';
import type { CallContext, RpcClient } from '@gatehouse/grpc/client';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { LeaseClient } from './lease-client.ts';

it('gives settlements 5 s, for which the tenant service divides its own time', async () => {
  const deadlines: number[] = [];
  const call = (_method: string, _request: object, { deadlineMs }: CallContext): Promise<object> => {
    deadlines.push(deadlineMs);
    return Promise.resolve({ unchargedIds: ['late'] });
  };
  const client = new LeaseClient({ call } as unknown as RpcClient<TenantServiceClient>);
  expect(
    await client.settle({ holderId: 'h', settlements: [], releasedHolderIds: [], liveHolderIds: [] }),
  ).toEqual(['late']);
  expect(deadlines).toEqual([5_000]);
});
