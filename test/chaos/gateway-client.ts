import { randomBytes } from 'node:crypto';
import { request, Agent } from 'node:http';
import { newId } from '@gatehouse/kit/ids';
import type { Instructions } from '@gatehouse/test/provider-simulator/faults';

export interface CompletionCall {
  stream?: boolean;
  model?: string;
  /** Further members of the request. */
  fields?: Record<string, unknown>;
  key?: string;
  /** The acting user. */
  user?: string;
  /** How the provider behaves. */
  provider?: Omit<Instructions, 'id'>;
  /** The client gives up after it. */
  timeoutMs?: number;
  /** Gives up at once. */
  signal?: AbortSignal;
}

/** The outcome of one request, as a client saw it. */
export interface Outcome {
  /** Rides in the request to the provider, and as its session in the run. */
  id: string;
  stream: boolean;
  status: number;
  /**
   * `answer`: complete. `error`: the one error shape, as a body or as a stream's last event, and a normal close.
   * `broken`: anything else, a reset or an end without a word. `timeout`: the client's own.
   */
  ending: 'answer' | 'error' | 'broken' | 'timeout';
  errorCode: string | null;
  chunks: number;
  ms: number;
  /** The last thing that the client saw, for the report. */
  detail: string;
}

/** A well-formed key that was never issued: only the database can show that it does not exist. */
export function unknownKey(): string {
  return `gwk_${randomBytes(8).toString('hex')}_${randomBytes(32).toString('base64url')}`;
}

const patienceMs = 120_000;

/** A client as the SDKs are: many connections, and a careful look at how each answer ends. */
export class GatewayClient {
  readonly #url: string;
  readonly #key: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Infinity });

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  complete(call: CompletionCall = {}): Promise<Outcome> {
    const { stream = false, model = 'gpt-4.1-mini', provider = {}, fields } = call;
    const id = newId();
    const body = JSON.stringify({
      model,
      stream,
      messages: [{ role: 'user', content: 'What happens when things break?' }],
      x_simulator: { id, ...provider },
      ...fields,
    });
    return this.#send({ id, stream, body, call });
  }

  /** Status of a `GET`; 0 when there is none. */
  async status(route: string, key = this.#key): Promise<number> {
    try {
      const response = await fetch(`${this.#url}${route}`, {
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.timeout(10_000),
      });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return 0;
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(sent: { id: string; stream: boolean; body: string; call: CompletionCall }): Promise<Outcome> {
    const { id, stream, body, call } = sent;
    const start = performance.now();
    return new Promise((resolve) => {
      let status = 0;
      let text = '';
      const end = (how: { complete: boolean; timedOut?: boolean; detail?: string }): void => {
        clearTimeout(timer);
        call.signal?.removeEventListener('abort', giveUp);
        const ms = Math.round(performance.now() - start);
        const detail = how.detail ?? text.slice(-300);
        const seen = { id, stream, status, ms, detail };
        if (how.timedOut === true) resolve({ ...seen, ...nothing, ending: 'timeout' });
        else if (how.complete) resolve({ ...seen, ...readEnding(status, stream, text) });
        else resolve({ ...seen, ...nothing, ending: 'broken' });
      };
      const outgoing = request(`${this.#url}/v1/chat/completions`, {
        method: 'POST',
        agent: this.#agent,
        headers: {
          authorization: `Bearer ${call.key ?? this.#key}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'x-session-id': id,
          ...(call.user === undefined ? {} : { 'x-service-user-id': call.user }),
        },
      });
      const giveUp = (): void => {
        end({ complete: false, timedOut: true });
        outgoing.destroy();
      };
      const timer = setTimeout(giveUp, call.timeoutMs ?? patienceMs);
      call.signal?.addEventListener('abort', giveUp, { once: true });
      outgoing.on('error', (error) => end({ complete: false, detail: String(error) }));
      outgoing.on('response', (response) => {
        status = response.statusCode ?? 0;
        response.setEncoding('utf8');
        response.on('data', (piece: string) => (text += piece));
        response.on('error', () => undefined);
        response.on('close', () => end({ complete: response.complete }));
      });
      outgoing.end(body);
    });
  }
}

const nothing = { errorCode: null, chunks: 0 };

type Ending = Pick<Outcome, 'ending' | 'errorCode' | 'chunks'>;

/** How a body that came to its normal end reads. */
function readEnding(status: number, stream: boolean, text: string): Ending {
  if (status !== 200 || !stream) {
    const parsed = parse(text);
    const errorCode = parsed === null ? null : errorCodeOf(parsed);
    if (status !== 200) return { ending: errorCode === null ? 'broken' : 'error', errorCode, chunks: 0 };
    return { ending: parsed?.['object'] === 'chat.completion' ? 'answer' : 'broken', errorCode, chunks: 0 };
  }
  const events = text.split('\n\n').filter((event) => event.startsWith('data: '));
  const last = events.at(-1)?.slice('data: '.length) ?? '';
  const chunks = events.length - 1;
  if (last === '[DONE]') return { ending: 'answer', errorCode: null, chunks };
  const errorCode = errorCodeOf(parse(last) ?? {});
  return { ending: errorCode === null ? 'broken' : 'error', errorCode, chunks };
}

/** The code of an error in the one shape, all of whose keys must be there. */
function errorCodeOf(body: Record<string, unknown>): string | null {
  const error = body['error'] as Record<string, unknown> | undefined;
  const keys = ['message', 'type', 'code', 'param', 'request_id'];
  if (error === undefined || !keys.every((key) => key in error)) return null;
  return String(error['code']);
}

function parse(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}
