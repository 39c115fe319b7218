import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { endedTrace } from '@gatehouse/test/ended-trace';
import { TestGateway } from '@gatehouse/test/gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

/** A client that asks for a stream and never reads it, in front of the whole gateway. */

let gateway: TestGateway;
let tenant: TenantAccess;
let socket: Socket | undefined;
beforeAll(async () => {
  gateway = await TestGateway.start({ environment: { UNREAD_TIMEOUT_MS: '1000' } });
  tenant = await gateway.makeTenant();
}, 60_000);
afterEach(() => {
  socket?.destroy();
});
afterAll(async () => gateway.stop());

it('a stream that its client does not read ends as cancelled, at the provider too', async () => {
  const id = newId();
  const body = JSON.stringify({
    model: 'small',
    messages: [{ role: 'user', content: 'x' }],
    stream: true,
    x_simulator: { id, chunks: 200_000 },
  });
  const { hostname, port } = new URL(gateway.url);
  socket = connect(Number(port), hostname).on('error', () => undefined);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${tenant.userKey}\r\ncontent-type: application/json\r\nx-request-id: ${id}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await gateway.simulator.waitForRequest(
    (request) => request.id === id && request.client_closed_at !== null,
    60_000,
  );
  expect(await endedTrace(gateway, 'request_id', id)).toMatchObject({ status: 'cancelled' });
});
