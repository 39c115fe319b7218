import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  status: number;
  /** The error's code; null for other answers. */
  code: string | null;
}

/** Sends requests byte by byte as they are written, where `fetch` would normalise them. One at a time. */
export class RawClient {
  readonly #port: number;
  readonly #headers: string;
  #socket: Socket | null = null;

  constructor(port: number, headers: Record<string, string>) {
    this.#port = port;
    this.#headers = Object.entries({ host: 'gateway', ...headers })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
  }

  /** `target` has one character for each byte that is sent. */
  async request(method: string, target: string): Promise<RawAnswer> {
    const socket = await this.#connection();
    const answer = new Promise<RawAnswer>((resolve, reject) => {
      let received = '';
      const finish = (outcome: () => void): void => {
        socket.off('data', onData).off('close', onClose);
        outcome();
      };
      const onClose = (): void => finish(() => reject(new Error(`closed after ${JSON.stringify(received)}`)));
      const onData = (text: string): void => {
        received += text;
        const whole = parse(method, received);
        if (whole === null) return;
        if (whole.closes) this.close();
        finish(() => resolve(whole));
      };
      socket.on('data', onData).on('close', onClose);
    });
    socket.write(`${method} ${target} HTTP/1.1\r\n${this.#headers}\r\n`, 'latin1');
    return answer;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  async #connection(): Promise<Socket> {
    if (this.#socket?.writable === true) return this.#socket;
    const socket = connect(this.#port, '127.0.0.1').setEncoding('latin1');
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    this.#socket = socket;
    return socket;
  }
}

/** Null while the answer is not complete. */
function parse(method: string, received: string): (RawAnswer & { closes: boolean }) | null {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = received.slice(0, end).toLowerCase();
  const length = method === 'HEAD' ? 0 : Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
  const body = received.slice(end + 4);
  if (body.length < length) return null;
  return {
    status: Number(head.split(' ')[1]),
    code: /"code":"(\w+)"/.exec(body)?.[1] ?? null,
    closes: head.includes('connection: close'),
  };
}
