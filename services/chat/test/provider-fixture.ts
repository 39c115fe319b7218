import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import type { FrameConsumer, ProviderCall, ProviderStream } from '../src/providers/adapter.ts';
import { Catalogue } from '../src/catalogue/catalogue.ts';
import { ProviderFailure } from '../src/providers/provider-failure.ts';
import { frameData } from '@gatehouse/dialects/wire/sse-frames';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { HttpAdapter } from '../src/providers/http-adapter.ts';
import { kindOf } from '../src/providers/provider-kinds.ts';
import { Pieces } from '@gatehouse/dialects/wire/pieces';

export const providerKey = 'sk-provider';

/** Providers over real sockets for tests of what speaks to them: the simulator, or whatever a test writes. */
export class ProviderFixture {
  readonly simulator: ProviderSimulator;
  readonly #adapters: HttpAdapter[] = [];
  readonly #servers: Server[] = [];

  private constructor(simulator: ProviderSimulator) {
    this.simulator = simulator;
  }

  static async start(): Promise<ProviderFixture> {
    return new ProviderFixture(await startProviderSimulator({ apiKey: providerKey }));
  }

  /** An adapter for the simulator, or for what `fields` of the catalogue say otherwise. */
  adapter(
    fields: Record<string, unknown> = {},
    apiKey: string | null = providerKey,
    model: object = {},
  ): HttpAdapter {
    const entry = {
      ...{ name: 'acme', kind: 'openai', base_url: this.simulator.baseUrl, api_key_env: 'KEY' },
      ...fields,
    };
    const catalogue = Catalogue.parse({
      providers: [entry],
      models: [{ id: 'm', provider: 'acme', ...model }],
    });
    const [provider] = catalogue.providers;
    if (provider === undefined) throw new Error('the catalogue has no provider');
    const adapter = new HttpAdapter(provider, kindOf(provider, { KEY: apiKey ?? undefined }));
    this.#adapters.push(adapter);
    return adapter;
  }

  /** The base URL of a provider that answers what `listener` writes. */
  async serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#servers.push(server);
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }

  /** Milliseconds from `leave` until the simulator saw the connection of the request with this id close. */
  async closedAfter(id: string, leave: () => void): Promise<number> {
    const leftAt = Date.now();
    leave();
    const seen = await this.simulator.waitForRequest(
      (request) => request.id === id && request.client_closed_at !== null,
    );
    return (seen.client_closed_at ?? Infinity) - leftAt;
  }

  /** Closes what a test made. */
  async reset(): Promise<void> {
    await Promise.all(this.#adapters.splice(0).map((adapter) => adapter.close()));
    for (const server of this.#servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
    this.simulator.reset();
  }

  async stop(): Promise<void> {
    await this.reset();
    await this.simulator.close();
  }
}

/** A call for a stream with usage; `x_simulator` is the README's of the provider simulator. */
export function streamCall(x_simulator: object = {}, fields: Partial<ProviderCall> = {}): ProviderCall {
  return { ...unaryCall(x_simulator, { stream: true, stream_options: { include_usage: true } }), ...fields };
}

export function unaryCall(x_simulator: object = {}, body: object = {}): ProviderCall {
  const request = { model: 'm', messages: [{ role: 'user', content: 'größe 🎉' }], ...body, x_simulator };
  return {
    api: 'chat',
    ...{ operation: 'chat', model: 'm', stream: false },
    headers: {},
    body: Pieces.from(Buffer.from(JSON.stringify(request))),
    trace: continueTrace(undefined),
    signal: new AbortController().signal,
    onHeaders: () => undefined,
    room: new AnswerBudget({ perTenant: 2 ** 30, perProcess: 2 ** 30 }).open('tenant'),
  };
}

export async function failureOf(work: Promise<unknown>): Promise<ProviderFailure> {
  const outcome = await work.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  );
  if (outcome instanceof ProviderFailure) return outcome;
  throw outcome;
}

export interface Collected {
  bytes: Buffer;
  data: (string | null)[];
  /** `end`, or the kind of the failure. */
  end: string;
}

/** All frames of a stream, and how it ended. */
export function collect(stream: ProviderStream): Promise<Collected> {
  return new Promise((resolve) => {
    const frames: Buffer[] = [];
    const finish = (end: string): void =>
      resolve({ bytes: Buffer.concat(frames), data: frames.map((frame) => frameData(frame)), end });
    const consumer: FrameConsumer = {
      frames: (more) => frames.push(...more) > 0,
      end: () => finish('end'),
      fail: (failure) => finish(failure.kind),
    };
    stream.consume(consumer);
  });
}
