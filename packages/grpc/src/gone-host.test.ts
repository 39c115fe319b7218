import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { isHostGone } from './gone-host.ts';

const ends: (() => void)[] = [];
afterEach(() => ends.splice(0).forEach((end) => end()));

/** A port whose queue of connections is full: as from a host that is gone, no attempt to connect is answered. */
async function silentPort(): Promise<number> {
  const listening = `const server = require('node:net').createServer();
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port))`;
  const child = spawn(process.execPath, ['-e', listening], { stdio: ['ignore', 'pipe', 'inherit'] });
  ends.push(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  child.kill('SIGSTOP');
  const sockets: Socket[] = [];
  ends.push(() => sockets.forEach((socket) => socket.destroy()));
  await eventually(async () => {
    const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
    sockets.push(socket);
    await expect(once(socket, 'connect', { signal: AbortSignal.timeout(500) })).rejects.toThrow('aborted');
  });
  return port;
}

describe('the host of an address', () => {
  it('is gone if it answers no attempt to connect', async () => {
    expect(await isHostGone(`127.0.0.1:${await silentPort()}`, 1_500)).toBe(true);
  }, 20_000);

  it('is not gone because this process stood still for longer than the attempt', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const isGone = isHostGone(`127.0.0.1:${(server.address() as AddressInfo).port}`, 50);
    const until = performance.now() + 100;
    while (performance.now() < until);
    expect(await isGone).toBe(false);
    await new Promise((resolve) => server.close(resolve));
  });

  it('is not gone if it accepts or refuses a connection, or if that is not known', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await isHostGone(`127.0.0.1:${port}`)).toBe(false);
    await new Promise((resolve) => server.close(resolve));
    expect(await isHostGone(`127.0.0.1:${port}`)).toBe(false);
    expect(await isHostGone(`[::1]:${port}`)).toBe(false);
    expect(await isHostGone(`dns:tenant.test:${port}`)).toBe(false);
  });
});
