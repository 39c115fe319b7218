import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AuditEntry } from '@gatehouse/contract/audit';
import type { As } from '@gatehouse/test/service-under-test';
import { TenantServiceUnderTest } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
});
afterAll(() => tenants.stop());

describe('an export', () => {
  it.each(['/internal/v1/owner/audit-log/export', '/v1/audit-log/export'])(
    'streams all entries of the filter, over many pages and months, as %s',
    async (exported) => {
      const { id, admin } = await tenants.makeTenant();
      await tenants.rows(
        `insert into tenant.audit_log (id, at, action, actor_role, tenant_id, resource_type, resource_id, client_ip)
         select gen_random_uuid(), now() - make_interval(days => n / 5), 'agent.updated',
           case when n % 2 = 0 then 'owner' else 'admin' end, $1, 'agent', $1, '192.0.2.1'
         from generate_series(1, 450) as n`,
        [id],
      );
      const own = exported.startsWith('/v1');
      const query = `?action=agent.updated${own ? '' : `&tenant_id=${id}`}`;
      const answer = await tenants.call('GET', `${exported}${query}`, own ? { as: admin } : {});
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
      const entries = answer.body as unknown as AuditEntry[];
      expect(new Set(entries.map((entry) => entry.id)).size).toBe(450);
      const times = entries.map(({ at }) => at);
      expect(times).toEqual(times.toSorted().toReversed());
      const addresses = new Set(entries.map(({ client_ip: address }) => address));
      expect(addresses).toEqual(new Set(own ? ['192.0.2.1', null] : ['192.0.2.1']));
    },
  );

  it('of owners waits for none of tenants, whose clients may read slowly', async () => {
    const unread: IncomingMessage[] = [];
    for (let count = 0; count < 4; count += 1) {
      const { id, admin } = await tenants.makeTenant();
      // More than the buffers of a connection hold.
      await tenants.rows(
        `insert into tenant.audit_log (id, action, actor_role, tenant_id, resource_type, resource_id, after)
         select gen_random_uuid(), 'agent.updated', 'admin', $1, 'agent', $1,
           json_build_object('text', repeat('x', 100000)) from generate_series(1, 300)`,
        [id],
      );
      const headers = { 'x-gatehouse-assertion': await tenants.identity.assertion(admin) };
      const port = tenants.service.httpPort;
      const sent = get({ host: '127.0.0.1', port, path: '/v1/audit-log/export', headers });
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      expect(response.statusCode).toBe(200);
      unread.push(response);
    }
    const { id } = await tenants.makeTenant();
    const answer = await tenants.call('GET', `/internal/v1/owner/audit-log/export?tenant_id=${id}`);
    expect(answer.status).toBe(200);
    for (const response of unread) response.destroy();
  });

  it('is read by admins and owners alone, and takes no page', async () => {
    const { admin } = await tenants.makeTenant();
    const user: As = { ...admin, role: 'user' };
    expect((await tenants.call('GET', '/v1/audit-log/export', { as: user })).status).toBe(403);
    expect((await tenants.call('GET', '/internal/v1/owner/audit-log/export', { as: admin })).status).toBe(
      403,
    );
    expect((await tenants.call('GET', '/internal/v1/owner/audit-log/export?limit=5')).status).toBe(400);
  });
});
