import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Trace } from '@gatehouse/contract/traces';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

describe('an agent with memory', () => {
  let gateway: SomeGateway;
  let tenant: TenantAccess;
  beforeAll(async () => {
    gateway = await openGateway();
    tenant = await gateway.makeTenant();
    const memory = { enabled: true, recall_limit: 3, write: true };
    const made = await gateway.call('/v1/agents', {
      key: tenant.adminKey,
      body: { key: 'support', model: 'small', memory },
    });
    expect(made.status).toBe(201);
    const put = await gateway.call('/v1/agents/support/memory/documents/policies/returns.md', {
      key: tenant.adminKey,
      method: 'PUT',
      body: { text: '# Returns\n\nCustomers may return an item within 30 days of delivery.' },
    });
    expect(put.status).toBe(201);
  });
  afterAll(() => gateway.stop());

  const ask = (content: string, user?: string) =>
    gateway.call('/v1/chat/completions', {
      key: tenant.userKey,
      body: { model: 'agent:support', messages: [{ role: 'user', content }] },
      headers: user === undefined ? {} : { 'x-service-user-id': user },
    });

  async function spansOf(runId: string | null): Promise<Trace['spans']> {
    return eventually(async () => {
      const answer = await gateway.call(`/v1/traces/${runId ?? ''}`, { key: tenant.adminKey });
      expect(answer.status).toBe(200);
      const found = answer.body as Trace;
      expect(found.spans).not.toEqual([]);
      return found.spans;
    });
  }

  it('answers with passages of its documents, and shows the search in the trace', async () => {
    // The first search of a process may take longer than a turn waits.
    await eventually(async () => {
      const answer = await ask('When may a customer return an item?');
      expect(answer.status).toBe(200);
      expect(await spansOf(answer.headers.get('x-run-id'))).toMatchObject([
        { kind: 'memory', status: 'ok', memory: { passages: 1 } },
        { kind: 'llm', status: 'ok' },
      ]);
    });
  });

  it('remembers the turn of a user, for that user alone', async () => {
    await ask('My favourite colour is vermilion.', 'ada');
    const passagesFor = async (user: string): Promise<number> => {
      const answer = await ask('Which favourite colour, vermilion?', user);
      const spans = await spansOf(answer.headers.get('x-run-id'));
      return spans?.find(({ kind }) => kind === 'memory')?.memory?.passages ?? 0;
    };
    await eventually(async () => expect(await passagesFor('ada')).toBeGreaterThan(0));
    expect(await passagesFor('grace')).toBe(0);
  });
});
