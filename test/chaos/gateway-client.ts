import { randomBytes } from 'node:crypto';
import { request, Agent } from 'node:http';
import type { DialectName } from '@gatehouse/contract/dialects';
import { newId } from '@gatehouse/kit/ids';
import type { Instructions } from '@gatehouse/test/provider-simulator/faults';
import { clientDialects, eventsOf, parsed, question, type ClientDialect } from './client-dialect.ts';

export interface CompletionCall {
  /** Default: `chat`. */
  dialect?: DialectName;
  stream?: boolean;
  model?: string;
  /** Further members of the request. */
  fields?: Record<string, unknown>;
  key?: string;
  /** The acting user. */
  user?: string;
  /** The session. Default: one for each request. */
  session?: string;
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
  /** The response that the gateway keeps; null in dialects without state, and without an answer. */
  responseId: string | null;
  /**
   * `answer`: complete. `error`: the dialect's error shape, as a body or as a stream's last event, and a normal close.
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
    const { stream = false, model = 'gpt-4.1-mini', provider = {}, fields, dialect = 'chat' } = call;
    const id = newId();
    const instructions = { id, ...provider };
    const asked = { model, stream, text: question(instructions) };
    const as = clientDialects[dialect];
    // Fields may replace the text.
    const direct = dialect === 'chat' && { x_simulator: instructions };
    const body = JSON.stringify({ ...as.body(asked), ...direct, ...fields });
    return this.#send({ id, stream, body, call, as, path: as.path(asked) });
  }

  /** Status of a `GET`; 0 when there is none. */
  async status(
    route: string,
    { key = this.#key, user }: Pick<CompletionCall, 'key' | 'user'> = {},
  ): Promise<number> {
    try {
      const response = await fetch(`${this.#url}${route}`, {
        headers: { authorization: `Bearer ${key}`, ...actingAs(user) },
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

  #send(sent: {
    id: string;
    stream: boolean;
    path: string;
    body: string;
    call: CompletionCall;
    as: ClientDialect;
  }): Promise<Outcome> {
    const { id, stream, body, call, as } = sent;
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
        else if (how.complete) resolve({ ...seen, ...readEnding(as, { status, stream, text }) });
        else resolve({ ...seen, ...nothing, ending: 'broken' });
      };
      const outgoing = request(`${this.#url}${sent.path}`, {
        method: 'POST',
        agent: this.#agent,
        headers: {
          ...as.keyHeader(call.key ?? this.#key),
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'x-session-id': call.session ?? id,
          ...actingAs(call.user),
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

function actingAs(user: string | undefined): Record<string, string> {
  return user === undefined ? {} : { 'x-service-user-id': user };
}

const nothing = { errorCode: null, chunks: 0, responseId: null };

type Ending = Pick<Outcome, 'ending' | 'errorCode' | 'chunks' | 'responseId'>;

/** How a body that came to its normal end reads. */
function readEnding(
  as: ClientDialect,
  { status, stream, text }: { status: number; stream: boolean; text: string },
): Ending {
  if (status === 200 && stream) return streamEnding(as, text);
  const body = parsed(text) ?? {};
  const errorCode = as.errorCode(body);
  if (status !== 200) return { ...nothing, ending: errorCode === null ? 'broken' : 'error', errorCode };
  return as.isAnswer(body)
    ? { ...nothing, ending: 'answer', responseId: responseIdOf(body) }
    : { ...nothing, ending: 'broken' };
}

function streamEnding(as: ClientDialect, text: string): Ending {
  const events = eventsOf(text);
  const last = events.at(-1) ?? { text: '', data: null };
  const chunks = events.length - 1;
  const responseId = responseIdOf(last.data?.['response']);
  if (as.isEnd(last)) return { ending: 'answer', errorCode: null, chunks, responseId };
  const errorCode = as.errorCode(last.data ?? {});
  return { ...nothing, ending: errorCode === null ? 'broken' : 'error', errorCode, chunks };
}

function responseIdOf(response: unknown): string | null {
  const { object, id } = (response ?? {}) as Record<string, unknown>;
  return object === 'response' ? String(id) : null;
}
