import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { sleep } from '@gatehouse/kit/clock';

const host = '127.0.0.1';

/** An address like that of a pod that is gone: connecting to it gets no answer, because its queue of connections is full. */
export class VanishedReplica {
  readonly address: string;
  readonly #process: ChildProcess;
  readonly #sockets: Socket[];

  private constructor(address: string, process: ChildProcess, sockets: Socket[]) {
    this.address = address;
    this.#process = process;
    this.#sockets = sockets;
  }

  static async start(): Promise<VanishedReplica> {
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
    return new VanishedReplica(`${host}:${port.toString()}`, child, sockets);
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#process.kill('SIGKILL');
  }
}
