import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeAll, afterAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { EdgeUnderTest } from './edge-under-test.ts';

/** What happens to a request when a replica that the edge knows is not there, or goes while it is used. */

const host = '127.0.0.1';
const running: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0).reverse()) await stop();
});

async function replica(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  server.listen(0, host);
  await once(server, 'listening');
  running.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `${host}:${(server.address() as AddressInfo).port}`;
}

async function edgeTo(...addresses: string[]): Promise<EdgeUnderTest> {
  const list = addresses.join(',');
  const edge = await EdgeUnderTest.start({ AGENT_HTTP: list, CHAT_HTTP: list });
  running.push(() => edge.stop());
  return edge;
}

type Way = (edge: EdgeUnderTest) => Promise<Response>;

async function get(edge: EdgeUnderTest): Promise<Response> {
  return fetch(`${edge.url}/v1/agents`, { headers: { authorization: `Bearer ${edge.key}` } });
}

async function post(edge: EdgeUnderTest, path: string): Promise<Response> {
  const headers = { authorization: `Bearer ${edge.key}`, 'content-type': 'application/json' };
  return fetch(`${edge.url}${path}`, { method: 'POST', headers, body: '{"a":1}' });
}

const ways: [string, Way][] = [
  ['the general way', (edge) => post(edge, '/v1/agents')],
  ['the short way', (edge) => post(edge, '/v1/chat/completions')],
];

/** An address as that of a pod that is gone: whoever connects hears nothing. Its queue of connections is full. */
class Vanished {
  readonly address: string;
  readonly #process: ChildProcess;
  readonly #sockets: Socket[];

  private constructor(address: string, process: ChildProcess, sockets: Socket[]) {
    this.address = address;
    this.#process = process;
    this.#sockets = sockets;
  }

  static async start(): Promise<Vanished> {
    const script = `const server = require('net').createServer().listen({ port: 0, host: '${host}', backlog: 1 }, () => {
      require('fs').writeSync(1, String(server.address().port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    const sockets: Socket[] = [];
    for (let full = false; !full;) {
      const socket = connect(Number(port.toString()), host).on('error', () => undefined);
      sockets.push(socket);
      const connected = once(socket, 'connect').then(() => true);
      full = !(await Promise.race([connected, sleep(200).then(() => false)]));
    }
    return new Vanished(`${host}:${port.toString()}`, child, sockets);
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#process.kill('SIGKILL');
  }
}

describe('a replica that is gone without a word', () => {
  let vanished: Vanished;
  beforeAll(async () => {
    vanished = await Vanished.start();
  });
  afterAll(() => vanished.stop());

  it.each([...ways, ['the general way, reading', get] as [string, Way]])(
    'costs its requests a while, and no more: another replica answers them, %s',
    async (_name, ask) => {
      const good = await replica((_request, response) => response.end('{}'));
      const edge = await edgeTo(vanished.address, good);
      const began = performance.now();
      const answers = await Promise.all([1, 2, 3, 4].map(() => ask(edge)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(performance.now() - began).toBeLessThan(10_000);
      // It is passed over for a while now.
      const soon = performance.now();
      await Promise.all([ask(edge), ask(edge)]);
      expect(performance.now() - soon).toBeLessThan(800);
    },
  );

  it.each(ways)('is a 503 in time when there is no other: %s', async (_name, ask) => {
    const edge = await edgeTo(vanished.address);
    const began = performance.now();
    const answer = await ask(edge);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

describe('a kept connection', () => {
  it.each(ways)(
    'that breaks under a request fails that one, which is not sent twice: %s',
    async (_name, ask) => {
      const requests = new Map<Socket, number>();
      let seen = 0;
      const address = await replica((request, response) => {
        seen += 1;
        const before = requests.get(request.socket) ?? 0;
        requests.set(request.socket, before + 1);
        if (before === 0) response.end('{}');
        else request.socket.destroy();
      });
      const edge = await edgeTo(address);
      expect((await ask(edge)).status).toBe(200);
      const broken = await ask(edge);
      expect(broken.status).toBe(502);
      expect(await broken.json()).toMatchObject({ error: { code: 'bad_gateway' } });
      expect([seen, requests.size]).toEqual([2, 1]);
      expect((await ask(edge)).status).toBe(200);
    },
  );

  it.each(ways)(
    'that is idle is closed by the edge, before any replica that drains would: %s',
    async (_name, ask) => {
      const sockets = new Set<Socket>();
      const answer = async (request: IncomingMessage): Promise<void> => {
        sockets.add(request.socket);
        // Longer than an idle connection lives: this one is not idle.
        await sleep(slow ? 6_000 : 0);
      };
      let slow = true;
      const address = await replica(
        (request, response) => void answer(request).then(() => response.end('{}')),
      );
      const edge = await edgeTo(address);
      expect((await ask(edge)).status).toBe(200);
      slow = false;
      expect((await ask(edge)).status).toBe(200);
      const [socket] = [...sockets];
      if (socket === undefined || sockets.size > 1) throw new Error('it was not kept');
      const began = performance.now();
      if (!socket.readableEnded) await once(socket, 'end');
      expect(performance.now() - began).toBeLessThan(8_000);
    },
    30_000,
  );
});
