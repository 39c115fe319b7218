import { hash } from 'node:crypto';
import type { CreateBatch, ListBatches } from '@gatehouse/contract/batches';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { idempotencyKeyHeader } from '@gatehouse/http/idempotency-key';
import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';
import { userDigest } from '@gatehouse/kit/user-digest';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { Pricing } from '../catalogue/pricing.ts';
import type { Model } from '../catalogue/catalogue.ts';
import { priceText } from '../catalogue/kept-price.ts';
import type { Limiter, Payer } from '../limits/limiter.ts';
import { RequestAmounts } from '../limits/request-amounts.ts';
import type { Admission } from '../limits/admission.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { RunTelemetry } from '../recording/run-telemetry.ts';
import { startedRun, type StartedRun } from '../runs/run-record.ts';
import { clientNamed } from '../shared/client-name.ts';
import type { ProviderResources } from '../providers/resources.ts';
import { uuidIn } from '../shared/object-id.ts';
import { keptDays, withoutLimits, type KeySettings } from '../shared/tenant-settings.ts';
import {
  answering,
  asAppError,
  isRefused,
  pageAfter,
  pageOf,
  resourcesOf,
  type BatchDependencies,
} from './batch-calls-http.ts';
import { batchPrefix, filePrefix } from './batch-ids.ts';
import { voidBatch } from './batch-end-system-store.ts';
import { deploymentOf, inBatch, kindsByUrl, type BatchKind, type BatchRequests } from './batch-requests.ts';
import {
  BatchGone,
  confirmBatch,
  describeBatch,
  findBatch,
  findRequested,
  insertBatch,
  listBatches,
  type NewBatch,
  type OpenBounds,
  type StoredBatch,
} from './batch-system-store.ts';
import { findFile, type StoredFile } from './file-system-store.ts';
import { idIn, shownBatch } from './openai-batch.ts';
import { cancelBatch } from './provider-batch-peer.ts';

export interface BatchHandlerDependencies extends BatchDependencies {
  pricing: Pricing;
  limiter: Limiter;
  telemetry: Pick<RunTelemetry, 'within'>;
  /** The id of this replica. */
  holderId: () => string;
  /** The time until a new batch is asked about. */
  firstPauseMs: number;
}

/** Files keep their URL, which a later release may no longer take. */
const ofChat: BatchKind = { operation: 'chat', api: 'chat' };

/** Batches of a tenant under way. */
const mostBatches = 1_000;
/** Requests under way whose cost may exceed what is reserved for them, where a budget counts. */
const mostUnmeasured = 5_000;
/** Batches under way may use as many tokens as requests in the day that a batch may take. */
const minutesOfDay = 1_440n;
/** How long a provider may take to answer. */
const answerMs = 60_000;
/** When a provider that did not answer whether it has a batch is asked: its answer can't come any more. */
const creationMs = 5 * answerMs;

/** Batches of requests, each for the tenant and the user that it was made for; others get a 404. */
export function batchHandlers(dependencies: BatchHandlerDependencies): { handlers: Record<string, Handler> } {
  const { pool } = dependencies;
  return {
    handlers: {
      'batches.create': async (call: Call<CreateBatch>) => {
        const work = (): Promise<Fields> => createOnce(dependencies, call);
        return { body: await dependencies.idempotency.during(call.claim, work) };
      },
      'batches.get': async (call: Call) => {
        const batch = await found(dependencies, call);
        return { body: shown(dependencies, batch, tenantOf(call).tenantId) };
      },
      'batches.list': async (call: Call<unknown, ListBatches>) => {
        const { tenantId, userId } = tenantOf(call);
        const { after, limit } = call.query;
        const page = { after: pageAfter(batchPrefix, after), limit: limit + 1 };
        const batches = await listBatches(pool, { tenantId, userId }, page);
        const objects = batches.map((batch) => shown(dependencies, batch, tenantId));
        return { body: pageOf(objects, limit) };
      },
      'batches.cancel': async (call: Call) => ({ body: await cancel(dependencies, call) }),
    },
  };
}

function shown({ sealed }: BatchDependencies, batch: StoredBatch, tenantId: string): Fields {
  return shownBatch(sealed.open(batch.content, { id: batch.id, tenantId }), batch);
}

async function found(
  { pool }: BatchDependencies,
  call: Pick<Call, 'params' | 'principal'>,
): Promise<StoredBatch> {
  const id = uuidIn(batchPrefix, call.params['batch_id'] ?? '');
  const batch = id === null ? null : await findBatch(pool, id, tenantOf(call));
  if (batch === null) throw new AppError('not_found', 'There is no such batch.', { param: 'batch_id' });
  return batch;
}

async function cancel(dependencies: BatchHandlerDependencies, call: Call): Promise<Fields> {
  const { pool, sealed, firstPauseMs: pauseMs } = dependencies;
  const { tenantId } = tenantOf(call);
  const batch = await found(dependencies, call);
  if (batch.ended) throw hasEnded();
  await dependencies.counts.count(tenantId, 'batch_cancellations');
  const { id, key, providerBatchId } = batch;
  const resources = await resourcesOf(dependencies, key, call);
  const late = AbortSignal.timeout(answerMs);
  const object = await cancelBatch(resources, providerBatchId, late).catch((error: unknown) => {
    throw isConflict(error) ? hasEnded() : asAppError(error, key);
  });
  await describeBatch(pool, id, { content: sealed.seal(object, { id, tenantId }), pauseMs });
  return shownBatch(object, batch);
}

function hasEnded(): AppError {
  return new AppError('invalid_value', 'The batch has ended.', { param: 'batch_id' });
}

/** OpenAI's answer about a batch that has ended there, before its cost is recorded here. */
function isConflict(error: unknown): boolean {
  return error instanceof ProviderFailure && error.details.status === 409;
}

/**
 * Starts a batch, unless an earlier request with the same `Idempotency-Key` has. Its answer may not be stored: a replica
 * dies, or the provider doesn't say in time whether it has the batch.
 */
async function createOnce(dependencies: BatchHandlerDependencies, call: Call<CreateBatch>): Promise<Fields> {
  const { pool } = dependencies;
  const { tenantId } = tenantOf(call);
  const digest = requestDigestOf(call);
  const known = digest === null ? null : await findRequested(pool, tenantId, digest);
  if (known === 'pending') throw stillPending();
  if (known === null) return create(dependencies, call, digest);
  const body = shown(dependencies, known, tenantId);
  await answering(dependencies, call, body)(pool);
  return body;
}

/** SHA-256 of what a repeat has in common with the first request; null without an `Idempotency-Key`. */
function requestDigestOf(call: Call<CreateBatch>): Buffer | null {
  if (call.claim === null) return null;
  const { keyId, userId } = tenantOf(call);
  return hash('sha256', JSON.stringify([call.claim.request.key, keyId, userId, call.body]), 'buffer');
}

function stillPending(): AppError {
  return new AppError(
    'idempotency_in_progress',
    `It is not known yet whether the provider has the batch of this ${idempotencyKeyHeader}. Try again in a minute.`,
    { param: idempotencyKeyHeader, headers: retryAfterHeaders(60_000) },
  );
}

async function create(
  dependencies: BatchHandlerDependencies,
  call: Call<CreateBatch>,
  requestDigest: Buffer | null,
): Promise<Fields> {
  const principal = tenantOf(call);
  const { tenantId, keyId: apiKeyId } = principal;
  const settings = await dependencies.settings.getForKey(principal, call);
  const { file, requests } = await inputOf(dependencies, call);
  const asked = { provider: file.key.provider, allowed: settings.allowedModels };
  const model = deploymentOf(dependencies.catalogue, requests, asked);
  const resources = await resourcesOf(dependencies, file.key, call);
  const payer = { tenantId, apiKeyId, settings: ofPayer(settings, file) };
  const admission = await dependencies.limiter.arrive(payer);
  try {
    const reserved = await reserve(dependencies, { admission, payer, requests, model });
    const started = { call, settings, file, requests, model, admission, reserved, requestDigest };
    const batch = newBatch(dependencies, started);
    const unmeasured = admission.charges === null ? null : mostUnmeasured;
    const tokens = await tokenBounds(dependencies.limiter, payer);
    const bounds = { batches: mostBatches, tokens, unmeasured };
    assertWithin(await insertBatch(dependencies.pool, batch, bounds), batch, bounds);
    // The budgets hold it until it is charged.
    admission.release({ tokens: 0, costPico: reserved.pico });
    return await begin(dependencies, { batch, resources, call });
  } finally {
    admission.release({ tokens: 0, costPico: 0n });
  }
}

/** The settings without the limits that batches have their own of. */
function ofPayer(settings: KeySettings, { key }: StoredFile): KeySettings {
  const own = key.ownKeyId === null ? [] : [Resource.BUDGET];
  return withoutLimits(settings, own);
}

async function inputOf(
  { pool }: BatchDependencies,
  { body, principal }: Call<CreateBatch>,
): Promise<{ file: StoredFile; requests: BatchRequests }> {
  const id = uuidIn(filePrefix, body.input_file_id);
  const file = id === null ? null : await findFile(pool, id, tenantOf({ principal }));
  if (file === null || file.requests === null)
    throw new AppError('invalid_value', 'There is no such file of requests.', { param: 'input_file_id' });
  const requests = JSON.parse(file.requests) as BatchRequests;
  if (requests.url !== body.endpoint)
    throw new AppError('invalid_value', `The requests of the file are for ${requests.url}.`, {
      param: 'endpoint',
    });
  return { file, requests };
}

interface Reserved {
  inputTokens: number;
  tokens: number;
  pico: bigint;
}

/** Takes the highest cost from the budgets. Throws as `Limiter.admit` does. */
async function reserve(
  { limiter, pricing }: BatchHandlerDependencies,
  {
    admission,
    payer,
    requests,
    model,
  }: { admission: Admission; payer: Payer; requests: BatchRequests; model: Model },
): Promise<Reserved> {
  const { most, count, classes } = requests;
  const calls = { count, input: most.longest };
  const bounds = { input: most.input, output: most.output, classes, calls, serviceTier: null };
  const amounts = new RequestAmounts([{ ...bounds, model, choices: 1 }], pricing);
  // Tokens of a minute are too few for a batch, which has a bound of its own.
  const settings = withoutLimits(payer.settings, [Resource.TOKENS]);
  const signal = AbortSignal.timeout(answerMs);
  await limiter.admit(admission, { ...payer, settings }, { amounts, leastTokens: null, signal });
  const pico = admission.charges === null ? 0n : amounts.of(Resource.BUDGET);
  return { inputTokens: most.input, tokens: most.input + most.output, pico };
}

async function tokenBounds(limiter: Limiter, payer: Payer): Promise<OpenBounds['tokens']> {
  const { tenant, key } = await limiter.tokensPerMinute(payer);
  const ofDay = (perMinute: bigint | null): bigint | null =>
    perMinute === null ? null : perMinute * minutesOfDay;
  return { tenant: ofDay(tenant), key: ofDay(key) };
}

function assertWithin(
  exceeded: Awaited<ReturnType<typeof insertBatch>>,
  { unmeasured }: NewBatch,
  { tokens }: OpenBounds,
): void {
  if (exceeded === null) return;
  if (exceeded === 'begun') throw stillPending();
  if (exceeded === 'unmeasured') throw tooManyUnmeasured(unmeasured);
  if (exceeded === 'batches')
    throw new AppError('limit_reached', `A tenant may have ${mostBatches} batches under way.`);
  throw new AppError(
    'rate_limit_exceeded',
    `The batches under way of this ${exceeded === 'key' ? 'key' : 'tenant'} may use at most ${tokens[exceeded]} tokens: as many as its limit of tokens per minute allows in a day. Wait until some have ended, or send fewer requests.`,
    { headers: retryAfterHeaders(60_000) },
  );
}

function tooManyUnmeasured(count: number): AppError {
  const message = `With a budget, the batches under way of a tenant may have ${mostUnmeasured} requests with attachments, with tools of the provider or without a limit of tokens, whose cost only the provider knows.`;
  return count > mostUnmeasured
    ? new AppError('invalid_value', `${message} Divide the file.`, { param: 'input_file_id' })
    : new AppError('rate_limit_exceeded', `${message} Wait until some have ended.`, {
        headers: retryAfterHeaders(60_000),
      });
}

interface Beginning {
  call: Call<CreateBatch>;
  settings: KeySettings;
  file: StoredFile;
  requests: BatchRequests;
  model: Model;
  admission: Admission;
  reserved: Reserved;
  requestDigest: Buffer | null;
}

function newBatch(dependencies: BatchHandlerDependencies, beginning: Beginning): NewBatch {
  const { call, settings, file, model, admission, reserved } = beginning;
  const { tenantId, userId, keyId: apiKeyId } = tenantOf(call);
  const id = newId();
  const price = dependencies.pricing.priceOf(model, { at: new Date(), ...inBatch });
  return {
    ...{ id, tenantId, userId, apiKeyId, key: file.key, inputFileId: file.id },
    userDigest: userId === null ? null : userDigest(tenantId, userId),
    ...{ providerFileId: file.providerFileId, model: model.id, upstreamModel: model.upstreamModel },
    ...{
      price: price === null ? null : priceText(price),
      requests: beginning.requests.count,
      reserved,
      charges: admission.charges,
      holderId: dependencies.holderId(),
    },
    run: runOf(dependencies, id, beginning),
    unmeasured: beginning.requests.unmeasured ?? 0,
    ...{ days: keptDays(settings), creationMs, requestDigest: beginning.requestDigest },
  };
}

function runOf({ telemetry }: BatchHandlerDependencies, id: string, beginning: Beginning): StartedRun {
  const { call, file, requests } = beginning;
  const { tenantId, userId, keyId: apiKeyId } = tenantOf(call);
  const { traceId, spanId } = telemetry.within(call.trace);
  const { operation, api: dialect } = kindsByUrl.get(requests.url) ?? ofChat;
  return startedRun({
    ...{ id, tenantId, apiKeyId, userId, requestId: call.requestId, traceId, spanId },
    ...{
      operation,
      channel: 'batch',
      dialect,
      client: clientNamed(undefined),
      sessionId: null,
      agentId: null,
    },
    ...{ requestModel: requests.model, streamed: false, ownKey: file.key.ownKeyId !== null },
    ...{ inputPreview: null, recall: null, charges: null },
  });
}

/** Cancels a batch that other replicas have given up, as after a replica slept. Returns the error for its client. */
async function cancelled(resources: ProviderResources, providerBatchId: string): Promise<AppError> {
  await cancelBatch(resources, providerBatchId, AbortSignal.timeout(answerMs));
  return new AppError(
    'service_unavailable',
    'The batch took too long to start, and is cancelled. Try again.',
    {
      headers: retryAfterHeaders(1_000),
    },
  );
}

/** Asks the provider for a batch that is committed. */
async function begin(
  dependencies: BatchHandlerDependencies,
  {
    batch,
    resources,
    call,
  }: {
    batch: NewBatch;
    resources: ProviderResources;
    call: Call<CreateBatch>;
  },
): Promise<Fields> {
  const { pool, sealed, firstPauseMs: pauseMs } = dependencies;
  const { id, tenantId, providerFileId, inputFileId } = batch;
  const asked = { ...call.body, input_file_id: providerFileId };
  try {
    const object = await resources.json({
      ...{ method: 'POST', path: '/batches', headers: { 'content-type': 'application/json' } },
      ...{ body: Buffer.from(JSON.stringify(asked)), signal: AbortSignal.timeout(answerMs) },
    });
    const providerBatchId = idIn(object);
    if (providerBatchId === null) throw new ProviderFailure('invalid', batch.key.provider);
    const content = sealed.seal(object, { id, tenantId });
    const names = { id, inputFileId, outputFileId: null, errorFileId: null, ended: false };
    const body = shownBatch(object, names);
    const confirmed = { providerBatchId, content, pauseMs };
    const within = answering(dependencies, call, body);
    await confirmBatch(pool, id, confirmed, within).catch(async (error: unknown) => {
      throw error instanceof BatchGone ? await cancelled(resources, providerBatchId) : error;
    });
    return body;
  } catch (error) {
    // Otherwise the provider may have it: it is asked later.
    if (isRefused(error)) await voidBatch(pool, id);
    throw asAppError(error, batch.key);
  }
}
