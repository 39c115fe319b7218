import { once } from 'node:events';
import { constants, createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { GetTenantSettingsResponse, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { testIdentity } from '@gatehouse/test/identity';
import { tenantSettings } from '@gatehouse/test/tenant-rpcs';
import { Peer } from './client.ts';

const running: (() => void)[] = [];
afterEach(() => running.splice(0).forEach((stop) => stop()));

/** A server that rejects its first `refusals` streams, like one that is closing the connection. */
async function refusingServer(refusals: number): Promise<{ address: string; streams: () => number }> {
  let streams = 0;
  const server: Http2Server = createServer();
  server.on('stream', (stream: ServerHttp2Stream) => {
    streams += 1;
    stream.on('error', () => undefined);
    if (streams <= refusals) stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else answer(stream);
  });
  const sessions = new Set<{ destroy: () => void }>();
  server.on('session', (session) => sessions.add(session));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  running.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, streams: () => streams };
}

function answer(stream: ServerHttp2Stream): void {
  const message = GetTenantSettingsResponse.encode(tenantSettings({ retentionDays: 7 })).finish();
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.concat([head, message]));
}

async function call(address: string): Promise<GetTenantSettingsResponse> {
  const identity = await testIdentity();
  const signer = await identity.signer('chat');
  const peer = new Peer({ peer: 'tenant', addresses: [address], stub: TenantServiceClient, signer });
  running.push(() => peer.close());
  return peer.call('getTenantSettings', { tenantId: 't' }, { deadlineMs: 5_000 });
}

it('a call that was refused before it was processed is repeated', async () => {
  const server = await refusingServer(6);
  expect(await call(server.address)).toMatchObject({ retentionDays: 7 });
  expect(server.streams()).toBe(7);
});

it('a call that is refused every time fails after a bounded number of repeats', async () => {
  const server = await refusingServer(Infinity);
  await expect(call(server.address)).rejects.toMatchObject({ code: 'service_unavailable' });
  // Six attempts, each repeated once by grpc-js.
  expect(server.streams()).toBe(12);
});
