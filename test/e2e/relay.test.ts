import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isClosedToRelay } from '@gatehouse/contract/operator-surface';
import { routes } from '@gatehouse/contract/routes';
import { newId } from '@gatehouse/kit/ids';
import { endedTrace } from '@gatehouse/test/ended-trace';
import { errorCode } from '@gatehouse/test/error-code';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

/** The browser relay in front of the whole gateway. */

let gateway: SomeGateway;
let tenant: TenantAccess;

beforeAll(async () => {
  gateway = await openGateway();
  tenant = await gateway.makeTenant();
});
afterAll(async () => gateway.stop());

const relay = '/api-docs/proxy';

describe.each(
  routes
    .filter(({ access }) => access.kind !== 'public' && access.kind !== 'signed')
    .map((route) => [route.id, route] as const),
)('%s through the relay', (_id, route) => {
  const path = route.path.replaceAll(/\{\w+\+?\}/g, newId());
  const closed = isClosedToRelay(route.method, route.path);
  const body = route.bodyLimit > 0 ? '{"no_such_field": 1}' : undefined;
  const call = { method: route.method, ...(body === undefined ? {} : { body }) };

  it.each(['owner', 'admin', 'user', 'nobody'])(
    'answers the key of %s as it does without, or refuses',
    async (who) => {
      const keys = { owner: gateway.ownerKey, admin: tenant.adminKey, user: tenant.userKey };
      const key = keys[who as keyof typeof keys] as string | undefined;
      const relayed = await gateway.call(relay + path, { ...call, key: key ?? null });
      if (closed) {
        expect(relayed.status).toBe(403);
        expect(relayed.body).toMatchObject({
          error: { type: 'permission_error', code: 'relay_forbidden', param: null },
        });
        return;
      }
      const direct = await gateway.call(path, { ...call, key: key ?? null });
      expect(relayed.status).toBe(direct.status);
      expect(errorCode(relayed.body)).toBe(errorCode(direct.body));
    },
  );
});

describe('a completion through the relay', () => {
  const ask = (fields: object, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    fetch(`${gateway.url}${relay}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tenant.userKey}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify({ model: 'small', messages: [{ role: 'user', content: 'hello' }], ...fields }),
      signal: signal ?? null,
    });

  it('belongs to the tenant alone: without the user, the session and the cookies of the request', async () => {
    const response = await ask(
      {},
      { 'x-service-user-id': 'ann', 'x-session-id': 's-1', cookie: 'a=b', 'x-request-id': newId() },
    );
    expect(response.status).toBe(200);
    const trace = await endedTrace(gateway, 'id', response.headers.get('x-run-id'));
    expect(trace).toMatchObject({ user_id: null, session_id: null });
  });

  it('streams: its first words arrive while the provider still speaks', async () => {
    const response = await ask({ stream: true, x_simulator: { chunks: 10, chunk_delay_ms: 100 } });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const times: number[] = [];
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      times.push(performance.now());
    }
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(times.length).toBeGreaterThanOrEqual(10);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(700);
  });

  it('ends at the provider when the browser leaves', async () => {
    const id = newId();
    const leave = new AbortController();
    const fault = { id, chunks: 2_000, chunk_delay_ms: 25 };
    const response = await ask({ stream: true, x_simulator: fault }, {}, leave.signal);
    await response.body?.getReader().read();
    const leftAt = Date.now();
    leave.abort();
    const { client_closed_at: closedAt } = await gateway.simulator.waitForRequest(
      (request) => request.id === id && request.client_closed_at !== null,
    );
    expect((closedAt ?? Infinity) - leftAt).toBeLessThan(5_000);
  });
});
