import type { Readable } from 'node:stream';
import { pacedConnections } from '@gatehouse/egress/paced-reads';
import { toTraceparent } from '@gatehouse/kit/trace-context';
import { interceptors, Pool, type Dispatcher } from 'undici';
import type { Provider } from '../catalogue/catalogue.ts';
import { dialects } from '../dialects/dialects.ts';
import type { AnswerOrigin, ProviderAdapter, ProviderCall, ProviderStream } from './adapter.ts';
import { pathOf, providerKinds, type ProviderKind } from './provider-kinds.ts';
import { StreamHandler } from './stream-handler.ts';
import { UnaryHandler } from './unary-handler.ts';

const connectTimeoutMs = 10_000;

/** Smaller bodies may stay in memory; that costs less than an iterable. */
const largeBytes = 64 * 1024;
const nothing = Buffer.alloc(0);

/** Unpacks gzip, deflate, br and zstd. The unpacked answer is limited like one that was not packed. */
const unpack = withoutWarning(() => interceptors.decompress({ skipErrorResponses: false }));

/** undici warns on standard error that it may change the interceptor. */
function withoutWarning<Made>(make: () => Made): Made {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = ignore;
  try {
    return make();
  } finally {
    process.emitWarning = emitWarning;
  }
}

function ignore(): void {
  // Nothing is done.
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(bytes);
}

/** Passes requests to a provider, whose answers stay byte for byte. */
export class HttpAdapter implements ProviderAdapter {
  readonly #name: string;
  readonly #kind: ProviderKind;
  readonly #pool: Pool;
  readonly #unpacking: Dispatcher;
  readonly #basePath: string;
  readonly #apiKey: string | undefined;

  /** `apiKey`: undefined for servers that want none. */
  constructor(provider: Provider, apiKey: string | undefined) {
    const url = new URL(provider.base_url);
    this.#name = provider.name;
    this.#kind = providerKinds[provider.kind];
    this.#basePath = url.pathname === '/' ? '' : url.pathname;
    this.#apiKey = apiKey;
    this.#pool = new Pool(url.origin, {
      headersTimeout: provider.timeout_ms,
      bodyTimeout: provider.idle_timeout_ms,
      ...pacedConnections({ timeout: Math.min(connectTimeoutMs, provider.timeout_ms) }),
      // Shorter than servers keep idle connections, so that a request seldom meets one that is closing.
      keepAliveTimeout: 4_000,
    });
    this.#unpacking = this.#pool.compose(unpack);
  }

  async complete(call: ProviderCall): Promise<Buffer> {
    const handler = new UnaryHandler(this.#originOf(call), call);
    this.#dispatch(call, handler);
    return handler.answer;
  }

  async stream(call: ProviderCall): Promise<ProviderStream> {
    const handler = new StreamHandler(this.#originOf(call), call);
    this.#dispatch(call, handler);
    return handler.opened;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  #originOf({ api }: ProviderCall): AnswerOrigin {
    return { name: this.#name, format: dialects[api] };
  }

  #dispatch(call: ProviderCall, handler: Dispatcher.DispatchHandler): void {
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      'user-agent': 'gatehouse',
      // Without it, any is accepted (RFC 9110, 12.5.3). Some servers compress anyway.
      'accept-encoding': 'identity',
      traceparent: toTraceparent(call.trace),
      ...this.#kind.headers(this.#apiKey),
      ...call.headers,
    };
    const bytes = call.body ?? nothing;
    call.body = null;
    const isLarge = bytes.length > largeBytes;
    if (isLarge) headers['content-length'] = String(bytes.length);
    // undici keeps a buffer until the response is over, and keeps nothing of an iterable once it is sent.
    // Its types name Node's streams only.
    const body = isLarge ? (once(bytes) as unknown as Readable) : bytes;
    this.#unpacking.dispatch({ method: 'POST', path: this.#basePath + pathOf(call), headers, body }, handler);
  }
}
