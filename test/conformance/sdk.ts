import type { SomeGateway } from '@gatehouse/test/some-gateway';
import OpenAI, { APIError, type ClientOptions } from 'openai';
import type { Instructions } from '../support/provider-simulator/faults.ts';
import type { SimulatorRequest } from '../support/provider-simulator/records.ts';

/** The official SDK as a user sets it up; it retries nothing unless a test asks for that. */
export function sdkClient(gateway: SomeGateway, apiKey: string, options: ClientOptions = {}): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, ...options });
}

/** Instructions for the provider simulator, to be spread into a request: no type of the SDK knows them. */
export function simulate(instructions: Instructions): object {
  return { x_simulator: instructions };
}

/** A request of one user message. */
export function say(
  content: string,
  model = 'small',
): { model: string; messages: { role: 'user'; content: string }[] } {
  return { model, messages: [{ role: 'user', content }] };
}

/** The error that a call of the SDK rejects with. */
export async function errorOf(call: PromiseLike<unknown>): Promise<APIError> {
  const error: unknown = await Promise.resolve(call).then(
    () => new Error('the call succeeded'),
    (caught: unknown) => caught,
  );
  if (error instanceof APIError) return error;
  throw error;
}

/** The last body that the provider got, parsed. */
export function lastProviderBody(gateway: SomeGateway): Record<string, unknown> {
  return gateway.simulator.requests.at(-1)?.body as Record<string, unknown>;
}

/** Waits until the provider has seen its connection close, and returns how long that took since `from`. */
export async function closedAfter(
  gateway: SomeGateway,
  matches: (request: SimulatorRequest) => boolean,
  from: number,
): Promise<number> {
  const { client_closed_at: closedAt } = await gateway.simulator.waitForRequest(
    (request) => matches(request) && request.client_closed_at !== null,
  );
  return (closedAt ?? Infinity) - from;
}
