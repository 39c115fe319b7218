import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { Service } from '@gatehouse/shell/service';
import type { Answer, As } from '@gatehouse/test/service-under-test';
import { AgentServiceUnderTest, type TestTenant, type AnswerBody } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let replica: Service;
let tenant: TestTenant;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
  replica = await agents.startReplica();
  tenant = agents.makeTenant();
  // A repeat comes from the same API key.
  tenant.admin.keyId = newId();
});
afterAll(async () => {
  await replica.stop();
  await agents.stop();
});

const create = (key: string, sent: { as?: As; port?: number; fields?: object } = {}) =>
  agents.call('POST', '/v1/agents', {
    as: sent.as ?? tenant.admin,
    body: { key, model: 'small', ...sent.fields },
    headers: { 'idempotency-key': `create ${key}` },
    ...(sent.port === undefined ? {} : { port: sent.port }),
  });
const replayed = ({ headers }: Answer<AnswerBody>) => headers.get('idempotency-replayed');

describe('creating an agent with an Idempotency-Key', () => {
  it('makes one when twenty arrive at once on two replicas', async () => {
    const ports = [agents.service.httpPort, replica.httpPort];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => create('once', { port: ports[n % 2] ?? 0 })),
    );
    const [first, ...others] = answers.filter(
      ({ status, headers }) => status === 201 && !headers.has('idempotency-replayed'),
    );
    expect(others).toEqual([]);
    for (const answer of answers) {
      if (replayed(answer) === 'true') expect(answer.body).toEqual(first?.body);
      else if (answer !== first) expect(answer.body.error.code).toBe('idempotency_in_progress');
    }
    expect(await agents.listKeys(tenant.admin, 'q=once')).toEqual(['once']);
    const repeat = await create('once', { port: replica.httpPort });
    expect(repeat.body).toEqual(first?.body);
    expect(repeat.headers.get('location')).toBe(`/v1/agents/${repeat.body.id}`);
  });

  it('repeats that a key is taken, and refuses the same key for another agent', async () => {
    await agents.makeAgent(tenant.admin, { key: 'taken' });
    const refused = await create('taken');
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'agent_key_taken' } } });
    await agents.delete(tenant.admin, 'taken');
    const repeat = await create('taken');
    expect([repeat.body, replayed(repeat)]).toEqual([refused.body, 'true']);
    const other = await create('taken', { fields: { name: 'Another' } });
    expect(other.body.error.code).toBe('idempotency_key_reused');
    const acting = await create('taken', { as: { ...tenant.admin, userId: 'ann' } });
    expect(acting.body.error.code).toBe('idempotency_key_reused');
  });

  it('may be tried again at once after chat was away', async () => {
    await agents.chat.stop();
    expect((await create('later')).status).toBe(503);
    await agents.chat.restart();
    await agents.untilModelsAreChecked();
    const answer = await create('later');
    expect([answer.status, replayed(answer)]).toEqual([201, null]);
  });

  it('is another matter in another tenant', async () => {
    const other = agents.makeTenant();
    expect((await create('shared')).status).toBe(201);
    const theirs = await create('shared', { as: other.admin });
    expect([theirs.status, replayed(theirs)]).toEqual([201, null]);
  });
});
