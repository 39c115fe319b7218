import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sessionBudgetPolicyId } from '@gatehouse/kit/session-budget';
import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { ChatHarness } from './chat-harness.ts';

/** Budgets of sessions, set by requests. */

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(() => harness.stop());

interface Sent {
  dialect?: string;
  path?: string;
  body?: object;
  headers?: Record<string, string>;
  principal?: Partial<Principal>;
}

const chat = { model: 'priced', messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 10 };

function send({ dialect = 'chat', path = '/v1/chat/completions', body = chat, ...sent }: Sent) {
  const headers = { 'x-gatehouse-dialect': dialect, ...sent.headers };
  return harness.post(path, body, { headers, principal: sent.principal ?? { tenantId: newId() } });
}

/** The asks of requests for budgets of sessions of a user. */
const asksOf = (userId: string) =>
  harness.asks.filter((ask) => ask.userId === userId && ask.needs.length > 0);

const someone = () => ({ tenantId: newId(), userId: newId() });

describe('X-Session-Budget-Usd', () => {
  it('sets the budget of the session of the user', async () => {
    const principal = someone();
    const headers = { 'x-session-id': 's', 'x-session-budget-usd': '2.50' };
    expect((await send({ headers, principal })).status).toBe(200);
    const [ask] = asksOf(principal.userId);
    expect(ask).toMatchObject({
      ...{ policyId: sessionBudgetPolicyId, value: `user:${principal.userId}/s`, resource: Resource.BUDGET },
      sessionBudget: 2_500_000_000_000n,
    });
    // Requests without the header count in it, too.
    expect((await send({ headers: { 'x-session-id': 's' }, principal })).status).toBe(200);
    const later = asksOf(principal.userId).slice(1);
    expect(later.some(({ subjectId }) => subjectId === ask?.subjectId)).toBe(true);
  });

  it('costs a tenant without such budgets no call', async () => {
    const principal = someone();
    expect((await send({ headers: { 'x-session-id': 's' }, principal })).status).toBe(200);
    expect(asksOf(principal.userId)).toEqual([]);
  });

  it('counts the sessions of a tenant with such budgets, also before they have one', async () => {
    const principal = someone();
    harness.settings.set(principal.tenantId, { hasSessionBudgets: true });
    expect((await send({ headers: { 'x-session-id': 's' }, principal })).status).toBe(200);
    expect(asksOf(principal.userId)).toMatchObject([
      { value: `user:${principal.userId}/s`, sessionBudget: undefined },
    ]);
    expect((await send({ principal })).status).toBe(200);
    expect(asksOf(principal.userId)).toHaveLength(1);
  });

  const messages = { model: 'priced', messages: chat.messages, max_tokens: 10 };
  const contents = { contents: [{ parts: [{ text: 'Hello!' }] }] };
  it.each<[string, Sent, object]>([
    ['chat', {}, { error: { code: 'invalid_value', param: 'X-Session-Budget-Usd' } }],
    [
      'responses',
      { path: '/v1/responses', body: { model: 'priced', input: 'Hello!' } },
      { error: { code: 'invalid_value', param: 'X-Session-Budget-Usd' } },
    ],
    [
      'messages',
      { path: '/v1/messages', body: messages },
      { type: 'error', error: { type: 'invalid_request_error' } },
    ],
    [
      'gemini',
      { path: '/v1beta/models/priced:generateContent', body: contents },
      { error: { code: 400, status: 'INVALID_ARGUMENT' } },
    ],
  ])(
    'is refused in the shape of %s without a session, or with another value',
    async (dialect, sent, shape) => {
      const refused = async (headers: Record<string, string>, message: RegExp) => {
        const response = await send({ ...sent, dialect, headers });
        expect(response.status).toBe(400);
        const body = (await response.json()) as { error: { message: string } };
        expect(body).toMatchObject(shape);
        expect(body.error.message).toMatch(message);
      };
      await refused({ 'x-session-budget-usd': '2.00' }, /needs a session: send X-Session-Id/);
      for (const value of ['', '-1', '2,00', '1e3', 'USD 2', '2.00, 1.00', '0.0000000000001'])
        await refused(
          { 'x-session-id': 's', 'x-session-budget-usd': value },
          /must be a decimal amount of USD such as "2.00"/,
        );
    },
  );
});
