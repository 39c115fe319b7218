import { tenantOf, type Call } from '@gatehouse/http/app';
import type { Idempotency } from '@gatehouse/audited-changes/idempotency';
import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import type { Logger } from '@gatehouse/kit/log';
import type { MinuteCounts } from '@gatehouse/pg/minute-counts';
import type { Pool } from '@gatehouse/pg/pool';
import type { Catalogue, Model } from '../catalogue/catalogue.ts';
import type { Target } from '../catalogue/target.ts';
import { spentKey, wrongKey } from '../providers/key-status.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { KeyName, ProviderResources } from '../providers/resources.ts';
import { uuidIn } from '../shared/object-id.ts';
import type { KeySettings } from '../shared/tenant-settings.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import { type BatchApiName, isList } from './batch-api.ts';
import { batchTarget, type BatchKind } from './batch-requests.ts';
import { findBatch, type StoredBatch } from './batch-store.ts';
import type { Within } from './file-store.ts';
import { batchApis } from './provider-batch-client.ts';
import type { SealedObjects } from './sealed-object.ts';
import { providerAnswerMs } from '../bounds.ts';

/** Calls about files and batches. */

export interface BatchDependencies {
  /** Pool of statements tenants' requests wait for. */
  pool: Pool;
  providers: ProviderRegistry;
  catalogue: Catalogue;
  settings: TenantSettingsClient;
  sealed: SealedObjects;
  idempotency: Idempotency;
  /** Requests by which a tenant makes the gateway call a provider. */
  counts: MinuteCounts;
  log: Logger;
}

/** Statuses by which a provider refuses a key. */
const ownKeyRefusals: ReadonlySet<number> = new Set([wrongKey, spentKey, 403]);

/** Stores the answer to a request with an `Idempotency-Key`, in the transaction of its effect. */
export function answering(
  { idempotency }: Pick<BatchDependencies, 'idempotency'>,
  { claim, route }: Pick<Call, 'claim' | 'route'>,
  body: Fields,
): Within {
  return async (db) => {
    if (claim !== null) await idempotency.store(db, claim, { status: route.response.status, body });
  };
}

/** The id at which a page begins, or ends. Throws a 400 for an id of no object. */
export function pageAt(
  prefix: string,
  param: 'after' | 'after_id' | 'before_id',
  id?: string,
): string | null {
  if (id === undefined) return null;
  const uuid = uuidIn(prefix, id);
  if (uuid === null)
    throw new AppError('invalid_value', `${param} must be the id of an object of a page.`, { param });
  return uuid;
}

/** A page in OpenAI's shape. `objects`: one more than it has, where another page follows. */
export function pageOf(objects: readonly Fields[], limit: number): Fields {
  return { object: 'list', ...pageBetween(objects.slice(0, limit), objects.length > limit) };
}

/** A page with the ids of its begin and end. */
export function pageBetween(data: readonly Fields[], hasMore: boolean): Fields {
  return {
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: hasMore,
  };
}

/**
 * The provider's files and batches by a key it accepts, and its name. Throws the error for the client. `signal`: of a
 * client, which may leave.
 */
export async function acceptedKey(
  { providers }: Pick<BatchDependencies, 'providers'>,
  api: BatchApiName,
  {
    model,
    target,
    tenantId,
    signal,
  }: { model: Model; target: Target; tenantId: string; signal?: AbortSignal },
): Promise<{ resources: ProviderResources; key: KeyName }> {
  const late = AbortSignal.timeout(providerAnswerMs);
  const payer = { tenantId, ownKeys: target.ownKeys };
  const trial = {
    path: batchApis[api].trialPath,
    isAnswer: isList,
    signal: signal === undefined ? late : AbortSignal.any([signal, late]),
  };
  return providers.resourcesFor(model, payer, trial).catch((error: unknown) => {
    throw asAppError(asMissing(error, model));
  });
}

/** A client's batch by the id in the path. Throws a 404 without one. */
export async function batchOf(
  { pool }: BatchDependencies,
  call: Pick<Call, 'params' | 'principal'>,
  { api, prefix, param }: { api: BatchApiName; prefix: string; param: string },
): Promise<StoredBatch> {
  const id = uuidIn(prefix, call.params[param] ?? '');
  const batch = id === null ? null : await findBatch(pool, { id, api }, tenantOf(call));
  if (batch === null) throw new AppError('not_found', 'There is no such batch.', { param });
  return batch;
}

/** Statuses of a path the provider does not have. */
const missingStatuses: ReadonlySet<number> = new Set([404, 405, 501]);

/** Error about a path of all files or batches, missing at some providers: servers imitating an API. */
export function asMissing(error: unknown, { id }: Model): unknown {
  if (!(error instanceof ProviderFailure) || !missingStatuses.has(error.details.status ?? 0)) return error;
  const message = `The provider of the model ${id} has no batches.`;
  return new AppError('unsupported_parameter', message, { param: 'model', cause: error });
}

/** Finds what a request of a file or a batch asks for. */
export function targetsFor(
  { catalogue, providers }: Pick<BatchDependencies, 'catalogue' | 'providers'>,
  { settings, userId }: { settings: KeySettings; userId: string | null },
): (name: string, api: BatchKind['api']) => ReturnType<typeof batchTarget> {
  const choosing = {
    affinity: null,
    deploymentOrder: (model: Model) => providers.deploymentOrder(model, null),
  };
  return (name, api) => batchTarget(catalogue, name, { api, settings, userId, choosing });
}

/** The provider's files and batches by the key they were made with. Throws a 502 where the key is gone. */
export async function resourcesOf(
  { providers, settings }: Pick<BatchDependencies, 'providers' | 'settings'>,
  key: KeyName,
  call: Pick<Call, 'principal' | 'requestId' | 'trace'>,
): Promise<ProviderResources> {
  const principal = tenantOf(call);
  const { tenantId } = principal;
  const { ownKeys } = await settings.getForKey(principal, call);
  const resources = providers.resourcesOf(key, { tenantId, ownKeys });
  if (resources === null)
    throw new AppError(
      'provider_authentication',
      'The provider can no longer be asked with the key of then.',
    );
  return resources;
}

/** A provider's failure as its client gets it. `key`: the one the provider was asked with. */
export function asAppError(error: unknown, key?: KeyName): unknown {
  if (!(error instanceof ProviderFailure)) return error;
  const { status = 0 } = error.details;
  const isOwnKeys = typeof key?.ownKeyId === 'string' && ownKeyRefusals.has(status);
  return (isOwnKeys ? new ProviderFailure('own_key', error.provider, { cause: error }) : error).toAppError();
}

/** The error of one too many. `isKeys`: for the tenant, or else for all together. */
export function tooMany(what: string): (isKeys: boolean) => AppError {
  return (isKeys) =>
    new AppError(
      isKeys ? 'rate_limit_exceeded' : 'service_unavailable',
      `Too many ${what} ${isKeys ? 'of this tenant ' : ''}are under way.`,
      { retryAfterMs: 1_000 },
    );
}

/** Whether a provider has surely not taken a file or a batch. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof ProviderFailure)) return false;
  const { kind, details } = error;
  if (kind === 'unreachable' || kind === 'credentials') return true;
  const { status = 500 } = details;
  return kind === 'status' && ((status < 500 && status !== 408) || status === 501);
}
