import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { ProviderSimulator } from './simulator.ts';
import { isObject } from './values.ts';

/** What a client saw, down to the pieces it was read in. */
export interface Seen {
  status: number;
  headers: IncomingHttpHeaders;
  reads: Buffer[];
  text: string;
  /** False when the connection broke before the body's end. */
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

/** One request over a real socket; rejects when no headers come. */
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

/** A chat request of one user message. */
export function chatBody(content: string, fields: object = {}): object {
  return { model: 'gpt-4o', messages: [{ role: 'user', content }], ...fields };
}

/** A streamed chat request that carries instructions. */
export function streamBody(instructions: object, fields: object = {}): object {
  return chatBody('one two three', {
    stream: true,
    stream_options: { include_usage: true },
    x_simulator: instructions,
    ...fields,
  });
}

/** The data of each event, read as the standard says: any line end, comments and unknown lines skipped. */
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

/** The text that the first choice's deltas put together. */
export function contentIn(text: string): string {
  return eventsIn(text)
    .filter((data) => data !== '[DONE]')
    .map((data) => at(JSON.parse(data), 'choices', 0, 'delta', 'content'))
    .filter((content) => typeof content === 'string')
    .join('');
}

/** Walks into parsed JSON; undefined where the path ends early. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>((found, step) => {
    if (Array.isArray(found)) return found[Number(step)];
    return isObject(found) ? found[step] : undefined;
  }, value);
}

/** Walks into a JSON text. */
export function read(text: string, ...path: (string | number)[]): unknown {
  return at(JSON.parse(text), ...path);
}
