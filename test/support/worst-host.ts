import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A host in a thread of its own that answers as the first part of the path says; see `worst-host-thread.ts`. */
export class WorstHost {
  readonly #thread: Worker;
  readonly port: number;

  private constructor(thread: Worker, port: number) {
    this.#thread = thread;
    this.port = port;
  }

  static async start(): Promise<WorstHost> {
    const thread = new Worker(new URL('./worst-host-thread.ts', import.meta.url));
    const [port] = (await once(thread, 'message')) as [number];
    return new WorstHost(thread, port);
  }

  url(answer: string): string {
    return `http://127.0.0.1:${this.port}/${answer}`;
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}
