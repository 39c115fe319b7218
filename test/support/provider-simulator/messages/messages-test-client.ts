import type { ProviderSimulator } from '../simulator.ts';
import { call } from '../test-client.ts';
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
