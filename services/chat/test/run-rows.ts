import { newId } from '@gatehouse/kit/ids';
import { Catalogue } from '../src/catalogue/catalogue.ts';
import { sumCosts } from '../src/catalogue/price.ts';
import { Pricing } from '../src/catalogue/pricing.ts';
import { startedRun, type StartedRun } from '../src/runs/run-record.ts';
import type { AttemptStart } from '../src/runs/run.ts';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import type { EndRow, RunHandle, StartRow } from '../src/recording/run-rows.ts';

/** Rows about runs, as the parts of chat write them. */

/** One call about to be made, of which ten tokens are guessed. */
export function start(run: StartedRun = someRun(), number = 1): StartRow {
  const attempt: AttemptStart = {
    id: newId(),
    number,
    provider: 'openai',
    model: 'small',
    upstreamModel: 'small',
    inputTokensGuess: 10,
  };
  return { handle: {}, run, charges: null, holderId: null, attempt, ended: [] };
}

/** A further call of a run. */
export function callAgain({ run, handle }: StartRow): StartRow {
  return { ...start(run, 2), handle };
}

/** 2 and 8 USD per million tokens. */
export const pricing = new Pricing(
  Catalogue.parse({
    providers: [{ name: 'openai', kind: 'openai', base_url: 'https://provider.example' }],
    models: [{ id: 'small', provider: 'openai', price: { input_per_mtok: 2, output_per_mtok: 8 } }],
  }),
  null,
);

export function someRun(inputPreview: string | null = null): StartedRun {
  return startedRun({
    id: newId(),
    tenantId: newId(),
    operation: 'chat',
    channel: 'api',
    requestId: newId(),
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    apiKeyId: newId(),
    userId: null,
    sessionId: null,
    dialect: null,
    client: null,
    agentId: null,
    requestModel: 'small',
    ownKey: false,
    streamed: false,
    inputPreview,
    recall: null,
    charges: null,
  });
}

/** The end of a run without a call. */
export function failed(run: StartedRun, handle: RunHandle = {}): EndRow {
  return {
    handle,
    run,
    attempts: [],
    end: {
      status: 'error',
      durationMs: 1,
      timeToFirstTokenMs: null,
      provider: null,
      model: null,
      responseModel: null,
      usage: noUsage,
      cost: sumCosts([]),
      errorType: 'database_unavailable',
      errorMessage: null,
      outputPreview: null,
      tools: [],
    },
  };
}

/** The end of a run that was answered. */
export function ended({ run, handle }: StartRow, costPico: bigint): EndRow {
  const { end } = failed(run);
  const cost = { costPico, source: 'catalogue' as const, version: 'v1', priced: true };
  return { handle, run, attempts: [], end: { ...end, status: 'ok', errorType: null, cost } };
}
