import { topics } from '@gatehouse/contract/services';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AuditEntry } from '@gatehouse/contract/audit';
import { readAuditEvent } from '@gatehouse/events/audit-event';
import { KafkaConsumer } from '@gatehouse/events/kafka-consumer';
import { kafkaPlace } from '@gatehouse/events/settings';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { withoutKafka } from '@gatehouse/test/kafka';
import { makeTopics, type Topics } from '@gatehouse/test/kafka-topics';

const obstacle = await withoutKafka();

type Suite = (name: string, tests: () => void) => void;

const ways: [string, Suite, kafka: boolean][] = [
  ['directly', describe, false],
  [
    `through Kafka${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`,
    obstacle === undefined ? describe : describe.skip,
    true,
  ],
];

for (const [how, suite, throughKafka] of ways)
  suite(`the audit log, told ${how}`, () => {
    let gateway: TestGateway;
    let tenant: TenantAccess;
    let kafka: Topics | undefined;
    beforeAll(async () => {
      if (throughKafka) kafka = await makeTopics();
      gateway = await TestGateway.start(kafka === undefined ? {} : { kafka });
      tenant = await gateway.makeTenant();
    });
    afterAll(() => gateway.stop(), 60_000);

    async function log(query = ''): Promise<AuditEntry[]> {
      const answer = await gateway.call(`/internal/v1/owner/audit-log?tenant_id=${tenant.id}&${query}`, {
        key: gateway.ownerKey,
      });
      expect(answer.status).toBe(200);
      return (answer.body as { data: AuditEntry[] }).data;
    }
    const agentLog = async () => (await log()).filter(({ resource }) => resource.type === 'agent');

    it('has each change of a tenant’s keys and agents once, with the key and address it came from', async () => {
      const whoami = await gateway.call('/v1/whoami', { key: tenant.adminKey });
      const { key_id: keyId } = whoami.body as { key_id: string };
      const { adminKey: key } = tenant;
      const headers = { 'x-service-user-id': 'ann', 'x-request-id': 'create-1' };
      await gateway.call('/v1/agents', { key, body: { key: 'audited', model: 'small' }, headers });
      await gateway.call('/v1/agents/audited', { key, method: 'PATCH', body: { name: 'After' } });
      await gateway.call('/v1/agents/audited', { key, method: 'DELETE' });
      await eventually(async () => expect(await agentLog()).toHaveLength(3));
      const [deleted, updated, created] = await agentLog();
      expect(created).toMatchObject({
        action: 'agent.created',
        actor: { key_id: keyId, role: 'admin', user_id: 'ann' },
        client_ip: '127.0.0.1',
        request_id: 'create-1',
        before: null,
        after: { key: 'audited' },
      });
      expect(updated).toMatchObject({ before: { name: 'audited' }, after: { name: 'After' } });
      expect(deleted).toMatchObject({ action: 'agent.deleted', after: null });
      const { data } = (await gateway.call('/v1/api-keys', { key })).body as { data: { id: string }[] };
      expect((await log('action=api_key.created')).map(({ resource }) => resource.id).sort()).toEqual(
        data.map(({ id }) => id).sort(),
      );
      expect(await log('action=tenant.created')).toHaveLength(1);
    });

    if (throughKafka)
      it('is on the audit topic as a whole', async () => {
        if (kafka === undefined) throw new Error('there is no Kafka');
        const place = kafkaPlace({ ...kafka, KAFKA_BROKERS: [kafka.KAFKA_BROKERS] }, topics.audit);
        if (place === null) throw new Error('there is no place');
        const seen = new Set<string>();
        const consumer = new KafkaConsumer({
          ...place,
          groupId: `${place.prefix}test`,
          handle: (messages) => {
            for (const { payload } of messages) seen.add(readAuditEvent(payload.toString())?.id ?? '');
            return Promise.resolve();
          },
          log: createLogger('test', 'silent'),
          registry: createRegistry('test'),
        });
        consumer.start();
        try {
          const ids = (await log()).map(({ id }) => id);
          expect(ids.length).toBeGreaterThan(5);
          await eventually(() => expect([...seen]).toEqual(expect.arrayContaining(ids)));
          expect(await gateway.rows('tenant', 'select id from tenant.audit_outbox')).toEqual([]);
        } finally {
          await consumer.stop();
        }
      });

    it('believes no client about its address', async () => {
      const headers = { 'x-gatehouse-client-ip': '198.51.100.1', 'x-forwarded-for': '198.51.100.1' };
      const body = { name: 'From where', role: 'user' };
      await gateway.call('/v1/api-keys', { key: tenant.adminKey, body, headers });
      const [newest] = await log('action=api_key.created');
      expect(newest).toMatchObject({ after: body, client_ip: '127.0.0.1' });
    });

    it('loses nothing while tenant is away, and has nothing twice', async () => {
      const before = (await agentLog()).length;
      const create = async (name: string) =>
        (await gateway.call('/v1/agents', { key: tenant.adminKey, body: { key: name, model: 'small' } }))
          .status;
      expect(await create('early')).toBe(201);
      // The edge knows the key; agent asks chat alone.
      await gateway.databaseOf('tenant').cut();
      expect(await create('while-away')).toBe(201);
      await gateway.databaseOf('tenant').open();
      expect(await create('late')).toBe(201);
      await eventually(async () => expect(await agentLog()).toHaveLength(before + 3), 60_000);
      await gateway.stopMember('agent-1');
      await gateway.startMember('agent-1');
      expect(await gateway.rows('agent', 'select id from agent.audit_outbox')).toEqual([]);
      expect(await agentLog()).toHaveLength(before + 3);
    });
  });

describe('the address of a client behind a trusted proxy', () => {
  it('is the one that the proxy names', async () => {
    const gateway = await TestGateway.start({ environment: { TRUSTED_PROXIES: '127.0.0.0/8' } });
    try {
      const headers = { 'x-forwarded-for': '192.0.2.1, 203.0.113.9' };
      await gateway.call('/internal/v1/owner/tenants', {
        key: gateway.ownerKey,
        body: { slug: 'proxied', name: 'Proxied' },
        headers,
      });
      const answer = await gateway.call('/internal/v1/owner/audit-log?action=tenant.created', {
        key: gateway.ownerKey,
      });
      expect(answer.body).toMatchObject({ data: [{ client_ip: '203.0.113.9' }] });
    } finally {
      await gateway.stop();
    }
  });
});
