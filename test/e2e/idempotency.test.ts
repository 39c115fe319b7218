import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: SomeGateway;
let tenant: TenantAccess;

beforeAll(async () => {
  gateway = await openGateway({ edges: 2 });
  tenant = await gateway.makeTenant();
});
afterAll(() => gateway.stop());

const replayed = ({ headers }: { headers: Headers }) => headers.get('idempotency-replayed');

describe('Idempotency-Key through the gateway', () => {
  it.each([
    ['an agent', '/v1/agents', () => tenant.adminKey, { model: 'small', key: 'once' }],
    ['an API key', '/v1/api-keys', () => tenant.adminKey, { name: 'once', role: 'user' }],
    ['a tenant', '/internal/v1/owner/tenants', () => gateway.ownerKey, { name: 'Once', slug: 'once' }],
  ])('creates %s once, whichever edge is asked', async (_what, path, key, body) => {
    const headers = { 'idempotency-key': newId() };
    const first = await gateway.call(path, { key: key(), body, headers });
    expect([first.status, replayed(first)]).toEqual([201, null]);
    const second = await gateway.call(path, { key: key(), body, headers, edge: 1 });
    expect([second.status, replayed(second)]).toEqual([201, 'true']);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    const other = await gateway.call(path, { key: key(), body: { ...body, name: 'Other' }, headers });
    expect(other).toMatchObject({ status: 409, body: { error: { code: 'idempotency_key_reused' } } });
  });

  it('is refused when it is empty or sent twice', async () => {
    const headers = { authorization: `Bearer ${tenant.adminKey}`, 'content-type': 'application/json' };
    for (const values of [[''], ['one', 'two'], ['same', 'same']]) {
      const status = await new Promise((resolve, reject) => {
        const options = { method: 'POST', headers: { ...headers, 'idempotency-key': values } };
        request(`${gateway.url}/v1/agents`, options, (response) => {
          response.resume().on('end', () => resolve(response.statusCode));
        })
          .on('error', reject)
          .end(JSON.stringify({ key: 'twice', model: 'small' }));
      });
      expect([values, status]).toEqual([values, 400]);
    }
  });

  it('is ignored on completions', async () => {
    const before = gateway.simulator.requests.length;
    for (let n = 0; n < 2; n += 1) {
      const answer = await gateway.call('/v1/chat/completions', {
        key: tenant.userKey,
        body: { model: 'small', messages: [{ role: 'user', content: 'Hello' }] },
        headers: { 'idempotency-key': 'the same' },
      });
      expect([answer.status, replayed(answer)]).toEqual([200, null]);
    }
    expect(gateway.simulator.requests.length).toBe(before + 2);
  });
});
