import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Batches } from './batches.ts';
import { answerControl } from './control.ts';
import { bedrockModel } from './converse/bedrock-routes.ts';
import { sendJson } from './delivery.ts';
import { RefusedRequest } from './errors.ts';
import { Exchange } from './exchange.ts';
import {
  noFault,
  packedInstructions,
  parseInstructions,
  parseStandingFault,
  resolveFault,
} from './faults.ts';
import type { Fault, StandingFault } from './faults.ts';
import { geminiModel } from './gemini/gemini-routes.ts';
import { MessageBatches } from './messages/message-batches.ts';
import { PromptCache } from './messages/prompt-cache.ts';
import { ThinkingSigner } from './messages/thinking-signer.ts';
import { ProviderKey } from './provider-key.ts';
import { Recorder } from './records.ts';
import type { Ledger, SimulatorRequest } from './records.ts';
import { answer, formatOf } from './routes.ts';
import { strictRefusal } from './rules/rules.ts';
import { vertexModel } from './vertex/vertex-routes.ts';
import { isObject } from './values.ts';

export interface ProviderSimulatorOptions {
  /** 0, the default, selects a free port. */
  port?: number;
  host?: string;
  /** Required as a bearer token, or where Anthropic's and Google's clients put it; if unset, accepts any key. */
  apiKey?: string;
  /** Delay before the headers of every response in milliseconds, in addition to `delay_ms` of a fault. */
  latencyMs?: number;
  /** False disables records, for benchmarks; the totals of the ledger are still kept. */
  record?: boolean;
}

export type SimulatorRules = 'lenient' | 'strict';

export interface ProviderSimulator {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** `url` with `/v1`: the base URL for OpenAI clients. Clients of Anthropic and Google take `url`. */
  baseUrl: string;
  port: number;
  /** The newest requests, oldest first; entries change until their connection is finished. */
  readonly requests: readonly SimulatorRequest[];
  ledger: () => Ledger;
  /** With `strict`, requests that rules of providers by model (`rules/`) refuse return 400. `reset` leaves it. */
  rules: SimulatorRules;
  /** Files and batches. */
  batches: Batches;
  /** Batches of messages. */
  messageBatches: MessageBatches;
  /** Sets the fault of every request; null clears it. */
  setFault: (fault: StandingFault | null) => void;
  /** Waits for a request that matches and returns the oldest one. Default timeout: 5,000 ms. */
  waitForRequest: (
    predicate: (request: SimulatorRequest) => boolean,
    timeoutMs?: number,
  ) => Promise<SimulatorRequest>;
  /** Deletes requests, ledger, attempts and the standing fault. */
  reset: () => void;
  /** Closes all connections and releases the port. */
  close: () => Promise<void>;
}

/** Starts a provider with the APIs of OpenAI, Anthropic and Google and configurable faults (see README.md). */
export async function startProviderSimulator(
  options: ProviderSimulatorOptions = {},
): Promise<ProviderSimulator> {
  const { host = '127.0.0.1', port = 0 } = options;
  const server = createServer({ noDelay: true, keepAliveTimeout: 75_000 });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo; // a listening TCP server has an address
  const provider = new Provider(options, address.port);
  server.on('request', (request, response) => provider.receive(request, response));
  const url = `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${address.port}`;
  return {
    url,
    baseUrl: `${url}/v1`,
    port: address.port,
    get requests() {
      return provider.recorder.requests;
    },
    get rules() {
      return provider.rules;
    },
    set rules(rules) {
      provider.rules = rules;
    },
    batches: provider.batches,
    messageBatches: provider.messageBatches,
    ledger: () => provider.recorder.ledger(),
    setFault: (fault) => provider.setFault(fault),
    waitForRequest: (predicate, timeoutMs = 5000) => provider.recorder.waitFor(predicate, timeoutMs),
    reset: () => provider.reset(),
    close: () => provider.stop(server),
  };
}

const maxBodyBytes = 64 * 1024 * 1024;
const maxRawText = 64 * 1024;
const maxCountedIds = 20_000;

class Provider {
  readonly recorder: Recorder;
  rules: SimulatorRules = 'lenient';
  readonly #key: ProviderKey;
  readonly accessToken: string;
  readonly #signer: ThinkingSigner;
  readonly batches = new Batches();
  readonly messageBatches = new MessageBatches();
  readonly #cache = new PromptCache();
  readonly #latencyMs: number;
  readonly #attempts = new Map<string, number>();
  /** Random, so that ids stay unique after a restart of the simulator. */
  readonly #idSpace = randomBytes(4).toString('hex');
  #lastId = 0;
  #standing: StandingFault | null = null;
  #stopping = false;

  constructor({ apiKey, latencyMs = 0, record = true }: ProviderSimulatorOptions, port: number) {
    this.recorder = new Recorder(record);
    this.#key = new ProviderKey(apiKey);
    this.accessToken = apiKey ?? 'any';
    this.#latencyMs = latencyMs;
    // By port, so that thinking is valid after a restart and at no other simulator of the machine.
    this.#signer = new ThinkingSigner(`simulator ${port}`);
  }

  get standingFault(): StandingFault | null {
    return this.#standing;
  }

  /** Checked here too, because a cast in a test could hide a typo. */
  setFault(fault: unknown): void {
    this.#standing = fault === null ? null : parseStandingFault(fault);
  }

  reset(): void {
    this.recorder.reset();
    this.#attempts.clear();
    this.#cache.clear();
    this.batches.clear();
    this.messageBatches.clear();
    this.#standing = null;
  }

  async stop(server: Server): Promise<void> {
    this.#stopping = true;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  receive(request: IncomingMessage, response: ServerResponse): void {
    const at = Date.now();
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBodyBytes) request.destroy();
      else chunks.push(chunk);
    });
    request.on('end', () => {
      const [first] = chunks;
      const body = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
      if (request.url?.startsWith('/control/') === true) answerControl(this, { request, response, body });
      else this.#answer(request, response, { at, body });
    });
  }

  #answer(request: IncomingMessage, response: ServerResponse, received: { at: number; body: Buffer }): void {
    const record = this.#makeRecord(request, received);
    const newId = (prefix: string): string => this.#newId(prefix);
    const format = formatOf(record.path, newId);
    const exchange = new Exchange(response, record, {
      format,
      recorder: this.recorder,
      isStopping: () => this.#stopping,
    });
    this.recorder.add(record);
    try {
      if (!this.#key.admits(request.headers, format.keyHeaders)) throw format.wrongKey();
      const fault = this.#faultFor(record);
      if (this.rules === 'strict') {
        const words = strictRefusal(record.path, record.body, record.model ?? '');
        if (words !== null) throw new RefusedRequest(words);
      }
      const { batches, messageBatches } = this;
      answer({ exchange, fault, newId, signer: this.#signer, cache: this.#cache, batches, messageBatches });
    } catch (error) {
      const refusal = error instanceof RefusedRequest ? error : internalError(error);
      sendJson(
        exchange,
        { status: refusal.status, body: format.errorBody(format.refusal(refusal)) },
        noFault,
      );
    }
    this.recorder.changed(record);
  }

  #makeRecord(request: IncomingMessage, { at, body }: { at: number; body: Buffer }): SimulatorRequest {
    const text = body.toString();
    return {
      seq: this.recorder.nextSeq(),
      at,
      method: request.method ?? '',
      path: request.url ?? '',
      headers: this.#key.redact(request.headers),
      raw_body: text.length > maxRawText ? text.slice(0, maxRawText) : text,
      raw_bytes: body,
      body: parseJson(text),
      id: null,
      attempt: null,
      model: null,
      response_id: null,
      status: null,
      chunks_sent: 0,
      usage: null,
      usage_delivered: false,
      finished_at: null,
      client_closed_at: null,
    };
  }

  #faultFor(record: SimulatorRequest): Fault {
    const body = isObject(record.body) ? record.body : {};
    record.model = typeof body['model'] === 'string' ? body['model'] : modelIn(record.path);
    const own = parseInstructions(body['x_simulator'] ?? packedInstructions(record.raw_body));
    if (own?.id !== undefined) {
      record.id = own.id;
      record.attempt = this.#countAttempt(own.id);
    }
    const target = { model: record.model ?? '', attempt: record.attempt ?? 1 };
    const fault = resolveFault(this.#standing, own, target);
    return this.#latencyMs === 0 ? fault : { ...fault, delay_ms: this.#latencyMs + (fault.delay_ms ?? 0) };
  }

  #countAttempt(id: string): number {
    const attempt = (this.#attempts.get(id) ?? 0) + 1;
    this.#attempts.delete(id); // moves it to the end, so that the oldest ids are deleted first
    this.#attempts.set(id, attempt);
    const [oldest] = this.#attempts.size > maxCountedIds ? this.#attempts.keys() : [];
    if (oldest !== undefined) this.#attempts.delete(oldest);
    return attempt;
  }

  #newId(prefix: string): string {
    return prefix + this.#idSpace + (++this.#lastId).toString(36).padStart(8, '0');
  }
}

/** The model in the path of APIs that have it there. */
function modelIn(path: string): string | null {
  return geminiModel(path) ?? bedrockModel(path) ?? vertexModel(path);
}

function parseJson(text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** An error in the simulator itself. Its message says so, because a test would look for the cause in the gateway. */
function internalError(error: unknown): RefusedRequest {
  return new RefusedRequest(`The simulator failed: ${String(error)}`, { status: 500, code: 'simulator_bug' });
}
