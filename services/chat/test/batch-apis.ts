import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { begun, ended, linesOf, runOf, sdkFor } from './batch-client.ts';
import type { ChatHarness } from './chat-harness.ts';
import { anthropicFor, endedBatch, messageRequests, messageRunOf } from './message-batch-client.ts';

/** A batch of two requests under way, of a tenant with a budget, in one of the APIs that have batches. */
export interface BatchUnderWay {
  tenantId: string;
  runId: string;
  /** The batches of the simulator in this API. */
  there: ProviderSimulator['batches'] | ProviderSimulator['messageBatches'];
  /** Ends it at the provider, if that has not happened, and changes the text of its results. */
  finish: (change: (results: string) => string) => void;
  /** The number of batches whose results the provider has. */
  results: () => number;
  /** The answer to a request about it. */
  shown: () => Promise<object>;
  cancel: () => Promise<object>;
  /** Resolves once it has ended for its client. */
  end: () => Promise<object>;
}

interface Ground {
  harness: ChatHarness;
  simulator: ProviderSimulator;
}

async function messagesUnderWay({ harness, simulator }: Ground): Promise<BatchUnderWay> {
  const there = simulator.messageBatches;
  there.held = true;
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
  const client = anthropicFor(harness, { tenantId });
  const { id } = await client.messages.batches.create({ requests: messageRequests(['a', 'b']) });
  return {
    ...{ tenantId, there, runId: messageRunOf(id) },
    finish: (change) => {
      there.finish();
      for (const batch of there.batches.values()) batch.results = change(batch.results);
    },
    results: () => there.batches.size,
    shown: () => client.messages.batches.retrieve(id),
    cancel: () => client.messages.batches.cancel(id),
    end: () => endedBatch(client, id),
  };
}

async function completionsUnderWay({ harness, simulator }: Ground): Promise<BatchUnderWay> {
  const there = simulator.batches;
  there.held = true;
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
  const client = sdkFor(harness, { tenantId });
  const { id } = await begun(client, linesOf([{ id: 'a' }, { id: 'b' }]));
  return {
    ...{ tenantId, there, runId: runOf(id) },
    finish: (change) => {
      there.finish('completed');
      for (const file of outputs(there)) file.content = change(file.content);
    },
    results: () => outputs(there).length,
    shown: () => client.batches.retrieve(id),
    cancel: () => client.batches.cancel(id),
    end: () => ended(client, id),
  };
}

function outputs({ files }: ProviderSimulator['batches']): { content: string }[] {
  return [...files.values()].filter(({ object }) => object.id.startsWith('file-output'));
}

/** By the name of the API. The catalogue is `withClaude`. */
export const batchApis = [
  ['messages', messagesUnderWay],
  ['completions', completionsUnderWay],
] as const;

/** As a crash leaves a batch after its provider has taken it, once that can be asked, or could not be for some time. */
export async function loseBatch(harness: ChatHarness, runId: string, failingFor?: string): Promise<void> {
  await harness.rows('delete from chat.outbox where run_id = $1', [runId]);
  await harness.rows(
    `update chat.batches set provider_batch_id = null, content = null, ended_at = null, due_at = now(),
       lease_id = null, failing_since = now() - $2::interval
     where id = $1`,
    [runId, failingFor ?? null],
  );
}
