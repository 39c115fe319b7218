import { hash } from 'node:crypto';
import { tenantOf, type Call } from '@gatehouse/http/app';
import { idempotencyKeyHeader } from '@gatehouse/http/idempotency-key';
import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { userDigest } from '@gatehouse/kit/user-digest';
import { withTenant } from '@gatehouse/pg/pool';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { countedBatch } from './counted-batch.ts';
import type { Model } from '../catalogue/catalogue.ts';
import { priceText, type ReservedFee } from '../catalogue/kept-price.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import type { Admission } from '../limits/admission.ts';
import type { Limiter, Payer } from '../limits/limiter.ts';
import { RequestAmounts } from '../limits/request-amounts.ts';
import type { KeyName, ProviderResources } from '../providers/resources.ts';
import type { RunTelemetry } from '../recording/run-telemetry.ts';
import { startedRun, type StartedRun } from '../runs/run-record.ts';
import { clientNamed } from '@gatehouse/kit/client-name';
import type { UserGroup } from '@gatehouse/shell/user-directory';
import { groupsOfUser, type FindUser } from '../shared/acting-user.ts';
import type { RunStops } from '../stops/run-stops.ts';
import { storedDays, withoutLimits, type KeySettings } from '../shared/tenant-settings.ts';
import { requiredId, type BatchApiName } from './batch-api.ts';
import {
  answering,
  asAppError,
  asMissing,
  isRefused,
  type BatchDependencies,
  resourcesOf,
} from './batch-call-handlers.ts';
import { assertChecked } from './line-guardrails.ts';
import { inBatch, type BatchKind, type BatchRequests } from './batch-requests.ts';
import {
  BatchGone,
  confirmBatch,
  findRequested,
  insertBatch,
  voidBatch,
  type NewBatch,
  type OpenBounds,
  type StoredBatch,
  describeBatch,
} from './batch-store.ts';
import { cancelBatch } from './provider-batch-client.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import { mostFiles, mostBatches, mostUnmeasured, batchCreationMs, batchStartMs } from '../bounds.ts';

/** The start of a batch, whatever API has it: reserved, committed, and then asked for at its provider. */

export interface BatchHandlerDependencies extends BatchDependencies {
  pricing: Pricing;
  limiter: Limiter;
  telemetry: Pick<RunTelemetry, 'within'>;
  stops: Pick<RunStops, 'assertFree' | 'whenKnown'>;
  /** The time until a new batch is asked about. */
  firstPauseMs: number;
  findUser: FindUser;
}

export type StartCall = Pick<Call, 'principal' | 'requestId' | 'trace' | 'claim' | 'route'>;

/** A batch as a client asks for it. */
export interface Start extends Pick<
  NewBatch,
  'id' | 'key' | 'api' | 'inputFileId' | 'providerFileId' | 'firstId'
> {
  call: StartCall;
  kind: BatchKind;
  requests: BatchRequests;
  model: Model;
  settings: KeySettings;
  resources: ProviderResources;
  requestDigest: Buffer | null;
  /** Product the client is. */
  client: string | undefined;
  /** Member of the request with the requests of the batch. */
  param: string;
  /** Asks the provider for it. */
  ask: (signal: AbortSignal) => Promise<Fields>;
  /** The batch, as its provider describes it, in its client's terms. */
  toClient: (object: Fields) => Fields;
}

/** Batches under way may use as many tokens as requests in the day a batch may take. */
const minutesOfDay = 1_440n;

/**
 * Starts a batch by `start`, unless an earlier request with the same `Idempotency-Key` has. Its answer may not be stored:
 * a replica dies, or the provider doesn't say in time whether it has the batch. `content`: what a repeat has in common
 * with the first request.
 */
export async function startOnce(
  dependencies: BatchDependencies,
  call: StartCall,
  {
    content,
    start,
    showBatch,
  }: {
    content: unknown;
    start: (requestDigest: Buffer | null) => Promise<Fields>;
    showBatch: (batch: StoredBatch, tenantId: string) => Fields;
  },
): Promise<Fields> {
  const { pool } = dependencies;
  const { tenantId } = tenantOf(call);
  const digest = requestDigestOf(call, content);
  const known = digest === null ? null : await findRequested(pool, tenantId, digest);
  if (known === 'pending') throw stillPending();
  if (known === null) return start(digest);
  const body = showBatch(known, tenantId);
  await withTenant(pool, tenantId, answering(dependencies, call, body));
  return body;
}

/** SHA-256 of what a repeat has in common with the first request; null without an `Idempotency-Key`. */
function requestDigestOf(call: StartCall, content: unknown): Buffer | null {
  if (call.claim === null) return null;
  const { keyId, userId } = tenantOf(call);
  return hash('sha256', JSON.stringify([call.claim.request.key, keyId, userId, content]), 'buffer');
}

function stillPending(): AppError {
  return new AppError(
    'idempotency_in_progress',
    `It is not known yet whether the provider has the batch of this ${idempotencyKeyHeader}. Try again in a minute.`,
    { param: idempotencyKeyHeader, retryAfterMs: 60_000 },
  );
}

/** Reserves the most a batch can cost, commits it, and asks its provider for it. */
export async function startBatch(dependencies: BatchHandlerDependencies, start: Start): Promise<Fields> {
  const { call, api } = start;
  const { tenantId, keyId: apiKeyId, userId } = tenantOf(call);
  const { requestId, trace } = call;
  const caller = { tenantId, userId, requestId, trace };
  const groups = await groupsOfUser(dependencies.findUser, start.settings, caller);
  const actor = { tenantId, userId, apiKeyId, groups };
  assertChecked({ settings: start.settings, actor }, start.model.id, start.requests);
  await dependencies.stops.whenKnown();
  dependencies.stops.assertFree({ tenantId, apiKeyId, userId, sessionId: null, agentId: null });
  const payer = { tenantId, apiKeyId, settings: payerSettings(start.settings, start.key) };
  const admission = await dependencies.limiter.arrive(payer);
  try {
    const reserved = await reserve(dependencies, { admission, payer, start, groups });
    const batch = newBatch(dependencies, { start, groups, admission, reserved });
    const unmeasured = admission.reservation.isEnforced ? mostUnmeasured : null;
    const tokens = await tokenBounds(dependencies.limiter, payer);
    const files = api === 'anthropic' ? mostFiles : null;
    const bounds = { batches: mostBatches, tokens, unmeasured, files };
    assertWithin(await insertBatch(dependencies.pool, batch, bounds), { bounds, batch, param: start.param });
    // The budgets hold it until it is charged.
    admission.reservation.spend({ tokens: 0, costPico: reserved.pico });
    return await begin(dependencies, { batch, start });
  } finally {
    admission.release();
  }
}

/** The settings without the limits for which batches have their own. */
function payerSettings(settings: KeySettings, { ownKeyId }: KeyName): KeySettings {
  return withoutLimits(settings, ownKeyId === null ? [] : [Resource.BUDGET]);
}

interface Reserved {
  inputTokens: number;
  tokens: number;
  pico: bigint;
}

interface Reserving {
  admission: Admission;
  payer: Payer;
  start: Start;
  groups: readonly UserGroup[];
}

/** Takes the highest cost from the budgets. Throws as `Limiter.admit` does. */
async function reserve(
  { limiter, pricing }: BatchHandlerDependencies,
  { admission, payer, start, groups }: Reserving,
): Promise<Reserved> {
  const { call, requests, model, key } = start;
  const { most, count, classes, feeTools } = requests;
  const calls = { count, input: most.longest };
  const bounds = { input: most.input, output: most.output, classes, calls, serviceTier: null, feeTools };
  const amounts = new RequestAmounts([{ ...bounds, model, samplings: 1, choices: 1 }], pricing);
  // Tokens of a minute are too few for a batch, which has a bound of its own.
  const settings = withoutLimits(payer.settings, [Resource.TOKENS]);
  const signal = AbortSignal.timeout(batchStartMs);
  const { userId } = tenantOf(call);
  const counted = countedBatch(payer, { userId, groups, ownKey: key.ownKeyId !== null, model, amounts });
  await limiter.admit(
    admission,
    { ...payer, settings },
    { amounts, leastTokens: null, signal, ...(counted !== undefined && { counted }) },
  );
  const pico = admission.reservation.isEnforced ? amounts.amountOf(Resource.BUDGET) : 0n;
  return { inputTokens: most.input, tokens: most.input + most.output, pico };
}

async function tokenBounds(limiter: Limiter, payer: Payer): Promise<OpenBounds['tokens']> {
  const { tenant, key } = await limiter.tokensPerMinute(payer);
  const perDay = (perMinute: bigint | null): bigint | null =>
    perMinute === null ? null : perMinute * minutesOfDay;
  return { tenant: perDay(tenant), key: perDay(key) };
}

function assertWithin(
  exceeded: Awaited<ReturnType<typeof insertBatch>>,
  { bounds: { tokens }, batch, param }: { bounds: OpenBounds; batch: NewBatch; param: string },
): void {
  switch (exceeded) {
    case null:
      return;
    case 'begun':
      throw stillPending();
    case 'unmeasured':
      throw tooManyUnmeasured(batch.unmeasured, param);
    case 'batches':
      throw new AppError('limit_reached', `A tenant may have ${mostBatches} batches under way.`);
    case 'files':
      throw new AppError(
        'limit_reached',
        `A tenant may have ${mostFiles} files, and batches of messages are among them. Delete some first.`,
      );
    default:
      throw new AppError(
        'rate_limit_exceeded',
        `The batches under way of this ${exceeded === 'key' ? 'key' : 'tenant'} may use at most ${tokens[exceeded]} tokens: as many as its limit of tokens per minute allows in a day. Wait until some have ended, or send fewer requests.`,
        { retryAfterMs: 60_000 },
      );
  }
}

function tooManyUnmeasured(count: number, param: string): AppError {
  const message = `With a budget, the batches under way of a tenant may have ${mostUnmeasured} requests with attachments, with tools of the provider or without a limit of tokens, whose cost only the provider knows.`;
  return count > mostUnmeasured
    ? new AppError('invalid_value', `${message} Send them in parts.`, { param })
    : new AppError('rate_limit_exceeded', `${message} Wait until some have ended.`, { retryAfterMs: 60_000 });
}

interface Beginning {
  start: Start;
  groups: readonly UserGroup[];
  admission: Admission;
  reserved: Reserved;
}

function newBatch(dependencies: BatchHandlerDependencies, beginning: Beginning): NewBatch {
  const { start, groups, admission, reserved } = beginning;
  const { id, key, model, requests } = start;
  const { tenantId, userId, keyId: apiKeyId } = tenantOf(start.call);
  const { pricing } = dependencies;
  const price = pricing.priceOf(model, { at: new Date(), ...inBatch });
  return {
    ...{ id, tenantId, userId, apiKeyId, key, api: start.api, firstId: start.firstId },
    ...{ inputFileId: start.inputFileId, providerFileId: start.providerFileId },
    userDigest: userId === null ? null : userDigest(tenantId, userId),
    ...{ model: model.id, upstreamModel: model.upstreamModel },
    ...{
      price: price === null ? null : priceText(price, feesOf(pricing, model, requests)),
      requests: requests.count,
      reserved,
      charges: admission.reservation.charges,
      holderId: admission.reservation.holderId,
    },
    run: runOf(dependencies, start, groups),
    unmeasured: requests.unmeasured ?? 0,
    ...{ days: storedDays(start.settings), creationMs: batchCreationMs, requestDigest: start.requestDigest },
  };
}

function feesOf(
  pricing: BatchHandlerDependencies['pricing'],
  model: Model,
  { feeTools = [], count, withFees = count }: BatchRequests,
): ReservedFee[] {
  return (['in its items', 'at its end', 'never'] as const).flatMap((counted) => {
    const tools = feeTools.filter((tool) => tool.counted === counted);
    const pico = pricing.toolsCost(model, tools, new Date());
    return pico > 0n ? [{ counted, pico, requests: withFees }] : [];
  });
}

function runOf(
  { telemetry }: BatchHandlerDependencies,
  start: Start,
  groups: readonly UserGroup[],
): StartedRun {
  const { id, call, key, kind, requests } = start;
  const { tenantId, userId, keyId: apiKeyId } = tenantOf(call);
  const { traceId, spanId } = telemetry.within(call.trace);
  return startedRun({
    ...{ id, tenantId, apiKeyId, userId, requestId: call.requestId, traceId, spanId },
    groups: groups.map(({ name }) => name),
    ...{
      operation: kind.operation,
      channel: 'batch',
      dialect: kind.api,
      client: clientNamed(start.client),
      sessionId: null,
      agentId: null,
    },
    ...{ requestModel: requests.model, streamed: false, ownKey: key.ownKeyId !== null },
    ...{ inputPreview: null, recall: null, charges: null },
  });
}

/** Cancels a batch given up by other replicas, as after a replica slept. Returns the error for its client. */
async function cancelled(
  resources: ProviderResources,
  batch: { api: BatchApiName; providerBatchId: string },
): Promise<AppError> {
  await cancelBatch(resources, batch, AbortSignal.timeout(batchStartMs));
  return new AppError(
    'service_unavailable',
    'The batch took too long to start, and is cancelled. Try again.',
    { retryAfterMs: 1_000 },
  );
}

/** Asks the provider for a committed batch. */
async function begin(
  dependencies: BatchHandlerDependencies,
  { batch, start }: { batch: NewBatch; start: Start },
): Promise<Fields> {
  const { pool, sealed, firstPauseMs: pauseMs } = dependencies;
  const { id, tenantId, api } = batch;
  const { call, resources } = start;
  try {
    const object = await start.ask(AbortSignal.timeout(batchStartMs));
    const providerBatchId = requiredId(object);
    const content = sealed.seal(object, { id, tenantId });
    const body = start.toClient(object);
    const confirmed = { providerBatchId, content, pauseMs };
    const within = answering(dependencies, call, body);
    await withTenant(pool, tenantId, async (db) => {
      await confirmBatch(db, id, confirmed);
      await within(db);
    }).catch(async (error: unknown) => {
      throw error instanceof BatchGone ? await cancelled(resources, { api, providerBatchId }) : error;
    });
    return body;
  } catch (error) {
    // Otherwise the provider may have it: it is asked later.
    if (isRefused(error)) await withTenant(pool, tenantId, (db) => voidBatch(db, id));
    // OpenAI's path has a file in its request, which may be missing as well.
    throw asAppError(api === 'anthropic' ? asMissing(error, start.model) : error, batch.key);
  }
}

/** Cancels a batch under way. Returns the provider's description of it then; throws a 400 for an ended one. */
export async function cancelOpen(
  dependencies: BatchHandlerDependencies,
  call: Call,
  batch: StoredBatch,
): Promise<Fields> {
  const { pool, sealed, firstPauseMs: pauseMs } = dependencies;
  const { tenantId } = tenantOf(call);
  if (batch.ended) throw hasEnded(call);
  await dependencies.counts.count(tenantId, 'batch_cancellations');
  const { id, key } = batch;
  const resources = await resourcesOf(dependencies, key, call);
  const late = AbortSignal.timeout(batchStartMs);
  const object = await cancelBatch(resources, batch, late).catch((error: unknown) => {
    throw hasEndedThere(error) ? hasEnded(call) : asAppError(error, key);
  });
  await describeBatch(pool, { id, tenantId }, { content: sealed.seal(object, { id, tenantId }), pauseMs });
  return object;
}

function hasEnded({ params }: Pick<Call, 'params'>): AppError {
  const [param] = Object.keys(params);
  return new AppError('invalid_value', 'The batch has ended.', { param });
}

/** Whether a batch has ended there, before its cost is recorded here. OpenAI answers 409 then, and Anthropic 400. */
function hasEndedThere(error: unknown): boolean {
  const { status } = error instanceof ProviderFailure ? error.details : {};
  return status === 409 || status === 400;
}
