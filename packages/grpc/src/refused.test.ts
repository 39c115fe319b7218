import { once } from 'node:events';
import { constants, createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Client } from '@grpc/grpc-js';
import { AgentServiceService } from '@gatehouse/proto/agent/v1/agent';
import { ChatServiceService } from '@gatehouse/proto/chat/v1/chat';
import { MemoryServiceClient, MemoryServiceService } from '@gatehouse/proto/memory/v1/memory';
import { ParticipantServiceService } from '@gatehouse/proto/participant/v1/participant';
import { SystemServiceService } from '@gatehouse/proto/system/v1/system';
import {
  GetTenantSettingsResponse,
  TenantServiceClient,
  TenantServiceService,
} from '@gatehouse/proto/tenant/v1/tenant';
import { testIdentity } from '@gatehouse/test/identity';
import { tenantSettings } from '@gatehouse/test/tenant-rpcs';
import type { StubClass } from './channel.ts';
import { RpcClient } from './client.ts';
import { idempotentRpcs } from './idempotent.ts';

const running: (() => void)[] = [];
afterEach(() => running.splice(0).forEach((stop) => stop()));

const refuse = (stream: ServerHttp2Stream): void => stream.close(constants.NGHTTP2_REFUSED_STREAM);

/** A server that ends its first streams so; by default it refuses them, like one that is closing the connection. */
async function refusingServer(
  refusals: number,
  end: (stream: ServerHttp2Stream) => void = refuse,
): Promise<{ address: string; streams: () => number }> {
  let streams = 0;
  const server: Http2Server = createServer();
  server.on('stream', (stream: ServerHttp2Stream) => {
    streams += 1;
    stream.on('error', () => undefined);
    if (streams <= refusals) end(stream);
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

async function peerOf<Stub extends Client>(
  address: string,
  peerName: string,
  stub: StubClass<Stub>,
): Promise<RpcClient<Stub>> {
  const identity = await testIdentity();
  const signer = await identity.signer('chat');
  const peer = new RpcClient({ peer: peerName, addresses: [address], stub, signer });
  running.push(() => peer.close());
  return peer;
}

const tenantAt = (address: string) => peerOf(address, 'tenant', TenantServiceClient);

async function call(address: string): Promise<GetTenantSettingsResponse> {
  return (await tenantAt(address)).call('getTenantSettings', { tenantId: 't' }, { deadlineMs: 5_000 });
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

const unavailable = { code: 'service_unavailable', status: 503 };

describe.each<[string, (stream: ServerHttp2Stream) => void]>([
  ['whose connection is closed', (stream) => stream.session?.destroy()],
  ['whose session ends with an error', (stream) => stream.session?.destroy(new Error('m'), 2)],
  ['whose stream is reset', (stream) => stream.close(constants.NGHTTP2_PROTOCOL_ERROR)],
  ['whose stream is cancelled', (stream) => stream.close(constants.NGHTTP2_CANCEL)],
  ['that should be calm', (stream) => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)],
  ['that ends without a status', (stream) => stream.respond({ ':status': 200 }, { endStream: true })],
])('a call %s', (_name, end) => {
  it('is sent once more if it is idempotent', async () => {
    const server = await refusingServer(1, end);
    expect(await call(server.address)).toMatchObject({ retentionDays: 7 });
    expect(server.streams()).toBe(2);
    const down = await refusingServer(Infinity, end);
    await expect(call(down.address)).rejects.toMatchObject(unavailable);
    expect(down.streams()).toBe(2);
  });

  it('is 503 and not repeated if it may do something twice', async () => {
    const server = await refusingServer(1, end);
    const peer = await tenantAt(server.address);
    const nothing = { settlements: [], counterSettlements: [], releasedHolderIds: [], liveHolderIds: [] };
    const request = { holderId: 'h', ...nothing };
    await expect(peer.call('settle', request, { deadlineMs: 5_000 })).rejects.toMatchObject(unavailable);
    expect(server.streams()).toBe(1);
  });
});

it('a search of memory, which embeds its query in a run that is paid for, is not repeated', async () => {
  const of = { agentId: 'a', analyser: 'english' };
  const server = await refusingServer(2, (stream) => stream.session?.destroy());
  const memory = await peerOf(server.address, 'memory', MemoryServiceClient);
  const recall = { ...of, query: 'x', limit: 1, minScore: 0 };
  await expect(memory.call('recall', recall, { deadlineMs: 5_000 })).rejects.toMatchObject(unavailable);
  expect(server.streams()).toBe(1);
  const search = { ...of, tool: 'memory_search', argumentsJson: '{"query": "x"}' };
  await expect(memory.call('callTool', search, { deadlineMs: 5_000 })).rejects.toMatchObject(unavailable);
  expect(server.streams()).toBe(2);
});

it('only RPCs that exist are listed as idempotent', () => {
  const services = [
    ...[AgentServiceService, ChatServiceService, MemoryServiceService, ParticipantServiceService],
    ...[SystemServiceService, TenantServiceService],
  ];
  const paths = services.flatMap((each) => Object.values(each).map(({ path }) => path as string));
  expect([...idempotentRpcs].filter((path) => !paths.includes(path))).toEqual([]);
});
