import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { EgressError } from '@gatehouse/egress/errors';
import { monotonicMs } from '@gatehouse/kit/clock';
import { BodyRoom } from './body-room.ts';
import { EventLines, eventText, type StreamEvent } from './event-lines.ts';
import { McpFailure } from './failure.ts';
import type { MessageReader } from './message-reader.ts';
import type { RpcMessage } from './rpc-message.ts';
import { maxTokenChars, maxErrorBytes } from '../bounds.ts';

type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>;

export interface BoundedFetchOptions {
  tenantId: string;
  reader: MessageReader;
  /** For a request and its response: the client ends some longer ones only for itself. */
  timeoutMs: number;
  /** Called when a stream ends because of what it holds: the client does not fail its calls then. */
  onFault: (error: unknown) => void;
}

/** Events of a stream, and of a turn of the event loop. */
const events = { most: 10_000, atOnce: 64 };
/** Requests and notices from a server, besides answers; more are dropped. */
const unasked = { burst: 8, perS: 2 };
/** Answers to requests of a server. */
const answers = { mostBytes: 4_096, atOnce: 4, timeoutMs: 5_000 };

/**
 * `fetch` for the MCP client. Hands on only checked, small messages, whatever a server answers: the client's own
 * validation describes each fault, without limit and at once.
 */
export function boundedFetch(send: Fetch, options: BoundedFetchOptions): Fetch {
  const gate = new MessageGate(options);
  return async (input, init = {}) => {
    if (isAnswer(init)) return gate.answer((signal) => send(input, { ...init, signal }), init.signal);
    const limits = [
      ...(init.method === 'POST' ? [AbortSignal.timeout(options.timeoutMs)] : []),
      ...(init.signal ? [init.signal] : []),
    ];
    return gate.bounded(await send(input, init), AbortSignal.any(limits));
  };
}

class MessageGate {
  readonly #options: BoundedFetchOptions;
  readonly #unasked = new Allowance(unasked);
  #answering = 0;

  constructor(options: BoundedFetchOptions) {
    this.#options = options;
  }

  /** Sends an answer to a request of the server, unless several others still wait for it. */
  async answer(
    send: (signal: AbortSignal) => Promise<Response>,
    signal: AbortSignal | null | undefined,
  ): Promise<Response> {
    const accepted = (): Response => new Response(null, { status: 202 });
    if (this.#answering >= answers.atOnce) return accepted();
    this.#answering += 1;
    try {
      const limit = AbortSignal.timeout(answers.timeoutMs);
      const response = await send(signal ? AbortSignal.any([signal, limit]) : limit);
      await response.body?.cancel();
      return response.ok ? accepted() : new Response(null, { status: response.status });
    } finally {
      this.#answering -= 1;
    }
  }

  async bounded(response: Response, signal: AbortSignal): Promise<Response> {
    const { status, headers, body } = response;
    if (body === null) return response;
    if (!response.ok) return new Response(await this.#errorText(body, signal), { status, headers });
    switch (mediaType(headers)) {
      case 'application/json':
        return new Response(await this.#bodyText(body, signal), { status, headers });
      case 'text/event-stream':
        return new Response(ReadableStream.from(this.#events(body, signal)), { status, headers });
      default:
        await body.cancel();
        return new Response('', { status, headers });
    }
  }

  async #bodyText(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<string> {
    const { reader, tenantId } = this.#options;
    const room = new BodyRoom(reader, tenantId, signal);
    try {
      const messages = await reader.read(tenantId, await wholeBody(body, room), room.signal);
      // The client finds it to be no JSON.
      return messages === null ? '' : this.#handedOn(messages);
    } finally {
      room.close();
    }
  }

  #handedOn(messages: readonly RpcMessage[]): string {
    const handedOn = messages.filter((message) => this.#isHandedOn(message));
    const [only] = handedOn;
    return JSON.stringify(
      handedOn.length === 1 && only !== undefined ? only.content : handedOn.map(({ content }) => content),
    );
  }

  /** An error of the protocol; of any other text nothing is left. */
  async #errorText(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<string> {
    const { reader, tenantId } = this.#options;
    const start = await readStart(body, maxErrorBytes);
    const messages = start === null ? null : await reader.read(tenantId, start, signal).catch(() => null);
    const [first] = messages ?? [];
    return first?.kind === 'response' && messages?.length === 1 ? JSON.stringify(first.content) : '';
  }

  async *#events(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    const lines = new EventLines();
    const { reader, tenantId } = this.#options;
    const room = new BodyRoom(reader, tenantId, signal);
    let count = 0;
    try {
      for await (const piece of room.pieces(body)) {
        for (const event of lines.push(piece)) {
          count += 1;
          if (count > events.most) throw new McpFailure('too_large');
          if (count % events.atOnce === 0) await turnOfTheLoop();
          const bounded = await this.#event(event, room.signal);
          if (bounded !== null) yield encoder.encode(eventText(bounded));
        }
        await room.hold(lines.chars);
      }
    } catch (error) {
      if (isFault(error)) this.#options.onFault(error);
      throw error;
    } finally {
      room.close();
    }
  }

  async #event(
    { type, id = '', retry = '', data }: StreamEvent,
    signal: AbortSignal,
  ): Promise<StreamEvent | null> {
    const head = {
      type,
      id: id !== '' && id.length <= maxTokenChars ? id : undefined,
      retry: /^\d{1,9}$/.test(retry) ? retry : undefined,
    };
    // The address for the client's posts, in the transport of 2024.
    if (type === 'endpoint') return data.length > maxTokenChars ? null : { ...head, data };
    const message = type === 'message' && data !== '' ? await this.#message(data, signal) : null;
    if (message !== null) return { ...head, data: JSON.stringify(message.content) };
    return head.id === undefined && head.retry === undefined ? null : { ...head, data: '' };
  }

  async #message(data: string, signal: AbortSignal): Promise<RpcMessage | null> {
    const { reader, tenantId } = this.#options;
    const messages = await reader.read(tenantId, Buffer.from(data), signal);
    // Events hold one message.
    const [message] = messages ?? [];
    return messages?.length === 1 && message !== undefined && this.#isHandedOn(message) ? message : null;
  }

  #isHandedOn({ kind }: RpcMessage): boolean {
    return kind === 'response' || this.#unasked.take();
  }
}

/** So many at once, and then so many a second. */
class Allowance {
  readonly #limit: { burst: number; perS: number };
  #left: number;
  #at = monotonicMs();

  constructor(limit: { burst: number; perS: number }) {
    this.#limit = limit;
    this.#left = limit.burst;
  }

  take(): boolean {
    const now = monotonicMs();
    const { burst, perS } = this.#limit;
    this.#left = Math.min(burst, this.#left + ((now - this.#at) / 1_000) * perS);
    this.#at = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/** Not a broken connection: the client opens another one. */
function isFault(error: unknown): boolean {
  return error instanceof McpFailure || (error instanceof EgressError && error.failure === 'too_large');
}

/** Whether a request of the client is its answer to a request of the server. These are short. */
function isAnswer({ method, body }: RequestInit): boolean {
  if (method !== 'POST' || typeof body !== 'string' || body.length > answers.mostBytes) return false;
  const message = Object(JSON.parse(body)) as object;
  return 'id' in message && !('method' in message);
}

function mediaType(headers: Headers): string {
  return (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

async function wholeBody(body: ReadableStream<Uint8Array>, room: BodyRoom): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of room.pieces(body)) {
    pieces.push(piece);
    bytes += piece.length;
    await room.hold(bytes);
  }
  room.arrived();
  return Buffer.concat(pieces);
}

/** A whole body; null if it is longer. */
async function readStart(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Buffer | null> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the body.
  for await (const piece of body) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > maxBytes) return null;
  }
  return Buffer.concat(pieces);
}
