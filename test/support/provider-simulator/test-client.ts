import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { ProviderSimulator } from './simulator.ts';
import { isObject } from './values.ts';

/** The response as the client received it, including the pieces of the body. */
export interface Seen {
  status: number;
  headers: IncomingHttpHeaders;
  reads: Buffer[];
  text: string;
  /** False if the connection broke before the end of the body. */
  complete: boolean;
  /** Milliseconds from the request to the headers and to the end. */
  headersAfter: number;
  endAfter: number;
}

export interface CallOptions {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Makes one request over a real socket; rejects when no headers arrive. */
export function call(simulator: ProviderSimulator, body: unknown, options: CallOptions = {}): Promise<Seen> {
  const { method = 'POST', path = '/v1/chat/completions', headers = {}, signal } = options;
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(simulator.url + path, {
      method,
      headers,
      agent: false,
      ...(signal && { signal }),
    });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const headersAfter = performance.now() - start;
      const reads: Buffer[] = [];
      response.on('data', (bytes: Buffer) => reads.push(bytes));
      response.on('error', () => undefined);
      response.on('close', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          reads,
          text: Buffer.concat(reads).toString(),
          complete: response.complete,
          headersAfter,
          endAfter: performance.now() - start,
        }),
      );
    });
    outgoing.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  });
}

/** A chat request with one user message. */
export function chatBody(content: string, fields: object = {}): object {
  return { model: 'gpt-4o', messages: [{ role: 'user', content }], ...fields };
}

/** A streamed chat request with instructions. */
export function streamBody(instructions: object, fields: object = {}): object {
  return chatBody('one two three', {
    stream: true,
    stream_options: { include_usage: true },
    x_simulator: instructions,
    ...fields,
  });
}

/** The data of each event, parsed as in the standard: all line ends, ignoring comments and unknown lines. */
export function eventsIn(text: string): string[] {
  const events: string[] = [];
  let data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line === '' && data.length > 0) events.push(data.join('\n'));
    if (line === '') data = [];
    else if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
  }
  return events;
}

/** The text of the deltas of the first choice. */
export function contentIn(text: string): string {
  return eventsIn(text)
    .filter((data) => data !== '[DONE]')
    .map((data) => at(JSON.parse(data), 'choices', 0, 'delta', 'content'))
    .filter((content) => typeof content === 'string')
    .join('');
}

/** The value at a path in parsed JSON; undefined if the path does not exist. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>((found, step) => {
    if (Array.isArray(found)) return found[Number(step)];
    return isObject(found) ? found[step] : undefined;
  }, value);
}

/** The value at a path in a JSON text. */
export function read(text: string, ...path: (string | number)[]): unknown {
  return at(JSON.parse(text), ...path);
}
