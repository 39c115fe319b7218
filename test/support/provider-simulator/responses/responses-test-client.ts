import type { ProviderSimulator } from '../simulator.ts';
import { call, read } from '../test-client.ts';
import type { CallOptions, Seen } from '../test-client.ts';
import { isObject } from '../values.ts';
import type { JsonObject } from '../values.ts';

/** A Responses request. */
export function responsesBody(input: unknown, fields: object = {}): object {
  return { model: 'gpt-5.4-nano', input, ...fields };
}

/** Makes one Responses request over a real socket. */
export function callResponses(
  simulator: ProviderSimulator,
  body: unknown,
  options: CallOptions = {},
): Promise<Seen> {
  return call(simulator, body, { path: '/v1/responses', ...options });
}

/** The events of a stream; throws if the name of one is not the type of its data. */
export function responseEventsIn(text: string): JsonObject[] {
  const frames = text.split(/\r?\n\r?\n/).map((frame) => frame.replace(/^: comment\r?\n?/, ''));
  return frames
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [, name, data = ''] = /^event: (.*)\r?\ndata: (.*)$/.exec(frame) ?? [];
      const event: unknown = JSON.parse(data);
      if (!isObject(event) || event['type'] !== name) throw new Error(`not an event: ${frame}`);
      return event;
    });
}

export function typesIn(text: string): unknown[] {
  return responseEventsIn(text).map(({ type }) => type);
}

/** The text of all deltas of this type. */
export function deltasIn(text: string, type = 'response.output_text.delta'): string {
  return responseEventsIn(text)
    .filter((event) => event['type'] === type)
    .map(({ delta }) => String(delta))
    .join('');
}

/** The code and param of an error, with the beginning of its message. */
export function refusalIn({ status, text }: Seen): object {
  const { message, code, param } = read(text, 'error') as JsonObject; // every refusal has an error
  return { status, code, param, message };
}
