import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import { withoutKafka } from '@gatehouse/test/kafka';
import { makeTopics } from '@gatehouse/test/kafka-topics';
import { Receiver } from '@gatehouse/test/receiver';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { Webhook } from 'standardwebhooks';

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
  suite(`events that are published ${how}`, () => {
    let gateway: TestGateway;
    let tenant: TenantAccess;
    let receiver: Receiver;
    beforeAll(async () => {
      const kafka = throughKafka ? await makeTopics() : undefined;
      receiver = await Receiver.start();
      const environment = { EGRESS_ALLOW: '127.0.0.1' };
      gateway = await TestGateway.start({
        environment,
        forgetSettleMs: 500,
        ...(kafka !== undefined && { kafka }),
      });
      tenant = await gateway.makeTenant({ budget: { usd: '0.0006', period: 'month' } });
    });
    afterAll(async () => {
      await gateway.stop();
      await receiver.stop();
    });

    async function subscribe(path: string, key: string, types: string[]): Promise<Webhook> {
      const route =
        key === gateway.ownerKey ? '/internal/v1/owner/webhook-subscriptions' : '/v1/webhooks/subscriptions';
      const made = await gateway.call(route, { key, body: { url: receiver.url(path), event_types: types } });
      expect(made.status).toBe(201);
      return new Webhook((made.body as { secret: string }).secret);
    }

    async function received(path: string, by: Webhook, type: string): Promise<unknown> {
      return eventually(() => {
        const sent = receiver
          .at(path)
          .map(({ body, headers }) => by.verify(body, headers as Record<string, string>) as { type: string });
        const found = sent.find((event) => event.type === type);
        expect(found).toBeDefined();
        return found;
      });
    }

    const ask = () =>
      gateway.call('/v1/chat/completions', {
        key: tenant.userKey,
        body: {
          ...{ model: 'priced', messages: [{ role: 'user', content: 'a secret prompt' }], max_tokens: 100 },
          x_simulator: { usage: { prompt_tokens: 100, completion_tokens: 100 } },
        },
      });

    it('delete the data of a user in every service, and the memory of an agent', async () => {
      const { adminKey: key } = tenant;
      const body = { key: 'keeper', model: 'small', memory: { enabled: true, write: false } };
      expect((await gateway.call('/v1/agents', { key, body })).status).toBe(201);
      const put = async (path: string, headers = {}): Promise<void> => {
        const to = `/v1/agents/keeper/memory/documents/${path}`;
        const answer = await gateway.call(to, { key, method: 'PUT', body: { text: 'A quokka.' }, headers });
        expect(answer.status).toBe(201);
      };
      await put('own', { 'x-service-user-id': 'ann' });
      await put('shared');
      const documents = () => gateway.rows('memory', 'select from memory.documents');
      expect(await documents()).toHaveLength(2);

      const deleted = await gateway.call('/v1/users/ann/data', { key, method: 'DELETE' });
      const { id } = deleted.body as { id: string };
      await eventually(async () => {
        const deletion = await gateway.call(`/v1/users/ann/data/deletions/${id}`, { key });
        expect(deletion.body).toMatchObject({
          status: 'completed',
          services: [{ service: 'memory', counts: { documents: 1 } }, {}, {}, {}, {}],
        });
      }, 90_000);
      expect(await documents()).toHaveLength(1);

      expect((await gateway.call('/v1/agents/keeper', { key, method: 'DELETE' })).status).toBe(204);
      await eventually(async () => expect(await documents()).toEqual([]), 30_000);
    }, 150_000);

    it('reach the tenant and the owner that they are for', async () => {
      const types = ['run.failed', 'budget.threshold', 'limit.exceeded', 'key.expiring'];
      const own = await subscribe('/tenant', tenant.adminKey, types);
      const platform = await subscribe('/owner', gateway.ownerKey, ['tenant.budget_threshold']);
      const other = await gateway.makeTenant();
      await subscribe('/other', other.adminKey, types);

      // The first call spends half of the budget, and the second one may cost more than the rest.
      expect((await ask()).status).toBe(200);
      expect(await received('/tenant', own, 'budget.threshold')).toMatchObject({
        data: { subject_type: 'tenant', percent: 50, used_usd: '0.000300000000' },
      });
      expect((await ask()).body).toMatchObject({ error: { code: 'insufficient_quota' } });
      expect(await received('/tenant', own, 'limit.exceeded')).toMatchObject({
        data: { limit: 'budget', subject_type: 'tenant', maximum: '0.000600000000' },
      });
      expect(await received('/owner', platform, 'tenant.budget_threshold')).toMatchObject({
        data: { subject_type: 'tenant' },
      });

      const failing = await gateway.makeTenant();
      const its = await subscribe('/failing', failing.adminKey, ['run.failed']);
      const refused = await gateway.call('/v1/chat/completions', {
        key: failing.userKey,
        body: { model: 'refusing', messages: [{ role: 'user', content: 'a secret prompt' }] },
      });
      expect(refused.status).toBe(502);
      expect(await received('/failing', its, 'run.failed')).toMatchObject({
        data: { request_model: 'refusing', status: 'error', error_type: 'provider_unreachable' },
      });
      expect(receiver.at('/other')).toEqual([]);
      expect(JSON.stringify(receiver.received)).not.toContain('secret prompt');
    });
  });
