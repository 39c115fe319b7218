import { expect, it } from '@jest/globals';
import type { CallContext, RpcClient } from '@gatehouse/grpc/client';
import { newId } from '@gatehouse/kit/ids';
import { PolicyIndex } from '@gatehouse/kit/policy-matching';
import type { Settlement, SettleRequest, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { LeaseClient } from './lease-client.ts';

it('gives settlements 5 s, for which the tenant service divides its own time', async () => {
  const deadlines: number[] = [];
  const call = (_method: string, _request: object, { deadlineMs }: CallContext): Promise<object> => {
    deadlines.push(deadlineMs);
    return Promise.resolve({ unchargedIds: ['late'], chargesCounters: true });
  };
  const client = new LeaseClient({ call } as unknown as RpcClient<TenantServiceClient>);
  expect(
    await client.settle({ holderId: 'h', settlements: [], releasedHolderIds: [], liveHolderIds: [] }),
  ).toEqual(['late']);
  expect(deadlines).toEqual([5_000]);
});

it.each([
  ['a tenant service of this release', { unchargedIds: ['c'], chargesCounters: true }, ['c']],
  ['one of the previous release, which has none', { unchargedIds: [], chargesCounters: false }, ['b']],
])('sends settlements of counters apart, to %s', async (_name, response, uncharged) => {
  const requests: SettleRequest[] = [];
  const call = (_method: string, request: SettleRequest): Promise<object> => {
    requests.push(request);
    return Promise.resolve(response);
  };
  const client = new LeaseClient({ call } as unknown as RpcClient<TenantServiceClient>);
  const policy = { id: newId(), select: {}, per: null, countsOwnKeys: true, counterKey: Buffer.alloc(32) };
  const facts = { userId: null, groups: [], agent: null, apiKeyId: null, sessionId: null, ownKey: false };
  const [counter] = new PolicyIndex([policy]).matching(facts).countersOf(null);
  const charged = (id: string, ...subjects: string[]): Settlement => ({
    ...{ id, tenantId: newId(), holderId: newId(), costPico: 1n },
    charges: subjects.map((subjectId) => ({ subjectId, windowStart: 0n })),
  });
  const settlements = [charged('a', newId()), charged('b', newId(), counter?.id ?? '')];
  const request = { holderId: newId(), releasedHolderIds: [], liveHolderIds: [] };
  expect(await client.settle({ ...request, settlements })).toEqual(uncharged);
  expect(requests).toEqual([
    expect.objectContaining({ settlements: [settlements[0]], counterSettlements: [settlements[1]] }),
  ]);
});
