import type { ProviderSimulator } from '../simulator.ts';
import { call, read } from '../test-client.ts';
import type { CallOptions, Seen } from '../test-client.ts';

export const apiVersion = { 'anthropic-version': '2023-06-01' };

/** A Messages request with one user message. */
export function messagesBody(content: unknown, fields: object = {}): object {
  return { model: 'claude-sonnet-5-5', max_tokens: 4000, messages: [{ role: 'user', content }], ...fields };
}

/** Makes one Messages request over a real socket. */
export function callMessages(
  simulator: ProviderSimulator,
  body: unknown,
  { headers = {}, ...options }: CallOptions = {},
): Promise<Seen> {
  return call(simulator, body, { path: '/v1/messages', ...options, headers: { ...apiVersion, ...headers } });
}

export interface NamedEvent {
  event: string | null;
  data: string;
}

/** The events of a stream, parsed as in the standard: all line ends, ignoring comments and unknown lines. */
export function namedEventsIn(text: string): NamedEvent[] {
  const events: NamedEvent[] = [];
  let event: string | null = null;
  let data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line.startsWith('event: ')) event = line.slice('event: '.length);
    else if (line.startsWith('data: ')) data.push(line.slice('data: '.length));
    if (line !== '') continue;
    if (data.length > 0) events.push({ event, data: data.join('\n') });
    event = null;
    data = [];
  }
  return events;
}

/** The text of all deltas of this type, such as `text_delta`. */
export function deltasIn(text: string, type = 'text_delta', field = 'text'): string {
  return namedEventsIn(text)
    .filter(({ data }) => data.includes(`"type":"${type}"`))
    .map(({ data }) => String(read(data, 'delta', field)))
    .join('');
}
