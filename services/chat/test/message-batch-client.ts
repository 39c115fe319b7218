import Anthropic, { APIError } from '@anthropic-ai/sdk';
import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { uuidIn } from '../src/shared/object-id.ts';
import type { ChatHarness } from './chat-harness.ts';

export type MessageBatch = Anthropic.Messages.Batches.MessageBatch;
export type MessageResult = Anthropic.Messages.Batches.MessageBatchIndividualResponse;
export type MessageBatchRequest = Anthropic.Messages.Batches.BatchCreateParams.Request;

/** The catalogue of the tests: the simulator with Anthropic's API, beside that of OpenAI. */
export const withClaude = ({ url, baseUrl }: { url: string; baseUrl: string }) => ({
  providers: [
    { name: 'anthropic', kind: 'anthropic', base_url: url, api_key_env: 'UNUSED', max_retries: 0 },
    { name: 'simulator', kind: 'openai', base_url: baseUrl, api_key_env: 'UNUSED', max_retries: 0 },
  ],
  models: [
    {
      id: 'claude',
      provider: 'anthropic',
      upstream_model: 'claude-upstream',
      price: { input_per_mtok: '1', output_per_mtok: '2' },
    },
    {
      id: 'short-claude',
      provider: 'anthropic',
      max_output_tokens: 1_000,
      price: { input_per_mtok: '1', output_per_mtok: '2' },
    },
    { id: 'other-claude', provider: 'anthropic', price: { input_per_mtok: '1', output_per_mtok: '2' } },
    { id: 'priced', provider: 'simulator', price: { input_per_mtok: '1', output_per_mtok: '2' } },
  ],
  embeddings: undefined,
});

/** The SDK as the edge would pass its requests on for this principal. */
export function anthropicFor(harness: ChatHarness, principal: Partial<Principal>): Anthropic {
  const keyId = newId();
  return new Anthropic({
    ...{ apiKey: 'unused', baseURL: harness.url, maxRetries: 0 },
    fetch: async (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set('x-gatehouse-dialect', 'messages');
      const made = makePrincipal({ keyId, ...principal });
      headers.set('x-gatehouse-assertion', await harness.identity.assertion(made));
      return fetch(input, { ...init, headers });
    },
  });
}

export function messageRequests(
  names: readonly string[],
  params: Record<string, unknown> = {},
): MessageBatchRequest[] {
  return names.map((name) => ({
    custom_id: name,
    params: {
      model: 'claude',
      max_tokens: 100,
      messages: [{ role: 'user', content: `say ${name}` }],
      ...params,
    },
  }));
}

export function endedBatch(client: Anthropic, id: string): Promise<MessageBatch> {
  return eventually(async () => {
    const batch = await client.messages.batches.retrieve(id);
    if (batch.processing_status !== 'ended') throw new Error(batch.processing_status);
    return batch;
  }, 60_000);
}

export async function resultsOf(client: Anthropic, id: string): Promise<MessageResult[]> {
  const results: MessageResult[] = [];
  for await (const result of await client.messages.batches.results(id)) results.push(result);
  return results;
}

/** The usage of results, in tokens. */
export function usageOf(results: readonly MessageResult[]): { input: number; output: number } {
  const usages = results.flatMap(({ result }) => (result.type === 'succeeded' ? [result.message.usage] : []));
  return {
    input: usages.reduce((sum, { input_tokens: tokens }) => sum + tokens, 0),
    output: usages.reduce((sum, { output_tokens: tokens }) => sum + tokens, 0),
  };
}

/** The id of a batch's run. */
export const messageRunOf = (batchId: string): string => uuidIn('msgbatch_', batchId) ?? '';

/** The error of the API that a call rejects with. */
export async function anthropicRefusal(
  work: Promise<unknown>,
): Promise<{ status: number | undefined; type: string; code: string; message: string }> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof APIError)) throw new Error(`no error of the API: ${String(error)}`);
  const body = error.error as { error: { type: string; message: string; details?: { error_code: string } } };
  const { type, message, details } = body.error;
  return { status: error.status as number | undefined, type, code: details?.error_code ?? '', message };
}
