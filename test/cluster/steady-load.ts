import { GatewayClient, type Outcome } from '../chaos/gateway-client.ts';

export interface Sent extends Outcome {
  /** In milliseconds since the epoch. */
  at: number;
}

export interface SteadyLoadOptions {
  url: string;
  key: string;
  unaryPerSecond: number;
  /** At a time; each takes about eight seconds. */
  streams: number;
}

const streamAnswer = { chunks: 80, chunk_delay_ms: 100 };
const unaryAnswer = { delay_ms: 50 };

/** Clients that go on whatever happens: unary requests at a fixed rate, and a fixed number of streams. */
export class SteadyLoad {
  readonly #client: GatewayClient;
  readonly #sent: Promise<Sent>[] = [];
  readonly #timer: NodeJS.Timeout;
  #stopping = false;

  constructor(options: SteadyLoadOptions) {
    this.#client = new GatewayClient(options.url, options.key);
    this.#timer = setInterval(() => void this.#send(false), 1_000 / options.unaryPerSecond);
    for (let index = 0; index < options.streams; index += 1) void this.#streamOn();
  }

  /** Sends nothing more, and resolves with every outcome once the last answer is there. */
  async stop(): Promise<Sent[]> {
    this.#stopping = true;
    clearInterval(this.#timer);
    const sent = await Promise.all(this.#sent);
    this.#client.close();
    return sent;
  }

  async #streamOn(): Promise<void> {
    // Not all in step.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 8_000));
    while (!this.#stopping) {
      const { ending } = await this.#send(true);
      if (ending !== 'answer') await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  #send(stream: boolean): Promise<Sent> {
    const at = Date.now();
    const provider = stream ? streamAnswer : unaryAnswer;
    const sent = this.#client.complete({ stream, provider }).then((outcome) => ({ ...outcome, at }));
    this.#sent.push(sent);
    return sent;
  }
}

/** Those that got no whole answer. */
export function failuresOf(sent: readonly Sent[]): Sent[] {
  return sent.filter(({ ending }) => ending !== 'answer');
}
