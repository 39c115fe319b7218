import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Neighbours } from '@gatehouse/shell/neighbours';
import { EdgeUnderTest } from './edge-under-test.ts';
import { upload, type Upload } from './upload.ts';

/** Tools for the table of tests over all ways through the edge. */

export const mebibyte = 1024 * 1024;
export const host = '127.0.0.1';

/** A way through the edge, by a route that takes it. */
export interface Way {
  way: string;
  /** A `POST` with JSON takes it. */
  path: string;
  /** The largest body that the route takes, in bytes. */
  bodyLimit: number;
  /** Sizes of bodies that are sent on differently: gathered, and as a stream where the proxy does that. */
  bodySizes: readonly number[];
}

/** Clients and services see the same of both proxies: a test of connections runs over both. */
export const ways: readonly Way[] = [
  { way: 'the general proxy', path: '/v1/agents', bodyLimit: mebibyte, bodySizes: [1_000] },
  {
    way: 'the pass-through',
    path: '/v1/chat/completions',
    bodyLimit: 20 * mebibyte,
    bodySizes: [1_000, 200_000],
  },
];

/** The same, and the way to a service of the edge's process: a test of answers runs over all three. */
export const waysOfAnswers: readonly (Pick<Way, 'way' | 'path'> & { startEdge: typeof startEdge })[] = [
  ...ways.map(({ way, path }) => ({ way, path, startEdge })),
  { way: 'the local sender', path: '/v1/chat/completions', startEdge: startBeside },
];

const running: (() => unknown)[] = [];

/** Ends what a test started, the last first. */
export async function stopAll(): Promise<void> {
  for (const stop of running.splice(0).reverse()) await stop();
}

export function stopLater(stop: () => unknown): void {
  running.push(stop);
}

export async function startEdge(...options: Parameters<typeof EdgeUnderTest.start>): Promise<EdgeUnderTest> {
  const edge = await EdgeUnderTest.start(...options);
  running.push(() => edge.stop());
  return edge;
}

/** An edge whose process has the chat service too, which answers by the test's listener. */
function startBeside(
  ...[environment, services, overrides]: Parameters<typeof startEdge>
): Promise<EdgeUnderTest> {
  const neighbours = new Neighbours(['chat'], { listen: false });
  const chat = neighbours.find('chat');
  if (chat !== undefined) chat.handler = services ?? null;
  return startEdge(environment, undefined, { ...overrides, neighbours });
}

/** An edge in front of the replicas at these addresses, for both ways. */
export function edgeTo(...addresses: string[]): Promise<EdgeUnderTest> {
  const list = addresses.join(',');
  return startEdge({ AGENT_HTTP: list, CHAT_HTTP: list });
}

/** Resolves to the address of a server. */
export async function replica(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, host);
  await once(server, 'listening');
  running.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `${host}:${(server.address() as AddressInfo).port}`;
}

export interface Asked {
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
}

export function ask(edge: EdgeUnderTest, path: string, asked: Asked = {}): Promise<Response> {
  const { headers, body = '{"a":1}', signal = null } = asked;
  const own = { authorization: `Bearer ${edge.key}`, 'content-type': 'application/json' };
  return fetch(edge.url + path, { method: 'POST', headers: { ...own, ...headers }, body, signal });
}

export function sending(...options: Parameters<typeof upload>): Upload {
  const sent = upload(...options);
  running.push(() => sent.socket.destroy());
  return sent;
}
