import type { CreateBatch, ListBatches } from '@gatehouse/contract/batches';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import { ProviderFailure } from '../providers/provider-failure.ts';
import { objectId, uuidIn } from '../shared/object-id.ts';
import { batchOf, pageAt, pageOf, resourcesOf, type BatchDependencies } from './batch-call-handlers.ts';
import { cancelOpen, startBatch, startOnce, type BatchHandlerDependencies } from './batch-start-handlers.ts';
import { hasId, batchPrefix, filePrefix } from './batch-api.ts';
import { deploymentOf, kindsByUrl, type BatchKind, type BatchRequests } from './batch-requests.ts';
import { listBatches, type StoredBatch } from './batch-store.ts';
import { findFile, type StoredFile } from './file-store.ts';
import { shownBatch } from './openai-batch.ts';

const api = 'openai';
const inPath = { api, prefix: batchPrefix, param: 'batch_id' } as const;

/** Files keep their URL, which a later release may no longer take. */
const chatBatches: BatchKind = { operation: 'chat', api: 'chat' };

/** Batches of requests, each for its tenant and its user; others get a 404. */
export function batchHandlers(dependencies: BatchHandlerDependencies): { handlers: Record<string, Handler> } {
  const { pool } = dependencies;
  return {
    handlers: {
      'batches.create': async (call: Call<CreateBatch>) => {
        const work = (): Promise<Fields> =>
          startOnce(dependencies, call, {
            content: call.body,
            start: (requestDigest) => create(dependencies, call, requestDigest),
            showBatch: (batch, tenantId) => showBatch(dependencies, batch, tenantId),
          });
        return { body: await dependencies.idempotency.during(call.claim, work) };
      },
      'batches.get': async (call: Call) => {
        const batch = await batchOf(dependencies, call, inPath);
        return { body: showBatch(dependencies, batch, tenantOf(call).tenantId) };
      },
      'batches.list': async (call: Call<unknown, ListBatches>) => {
        const { tenantId, userId } = tenantOf(call);
        const { after, limit } = call.query;
        const page = {
          api,
          after: pageAt(batchPrefix, 'after', after),
          before: null,
          limit: limit + 1,
        } as const;
        const batches = await listBatches(pool, { tenantId, userId }, page);
        const objects = batches.map((batch) => showBatch(dependencies, batch, tenantId));
        return { body: pageOf(objects, limit) };
      },
      'batches.cancel': async (call: Call) => {
        const batch = await batchOf(dependencies, call, inPath);
        return { body: shownBatch(await cancelOpen(dependencies, call, batch), batch) };
      },
    },
  };
}

function showBatch({ sealed }: BatchDependencies, batch: StoredBatch, tenantId: string): Fields {
  return shownBatch(sealed.open(batch.content, { id: batch.id, tenantId }), batch);
}

async function create(
  dependencies: BatchHandlerDependencies,
  call: Call<CreateBatch>,
  requestDigest: Buffer | null,
): Promise<Fields> {
  const settings = await dependencies.settings.getForKey(tenantOf(call), call);
  const { file, requests } = await inputOf(dependencies, call);
  const { key, providerFileId, id: inputFileId } = file;
  const keyRequest = { provider: key.provider, allowed: settings.allowedModels };
  const model = deploymentOf(dependencies.catalogue, requests, keyRequest);
  const resources = await resourcesOf(dependencies, key, call);
  const id = newId();
  const body = Buffer.from(JSON.stringify({ ...call.body, input_file_id: providerFileId }));
  const headers = { 'content-type': 'application/json' };
  return startBatch(dependencies, {
    ...{ id, call, api, key, requests, model, settings, resources, requestDigest },
    ...{ inputFileId, providerFileId, firstId: null, client: undefined, param: 'input_file_id' },
    kind: kindsByUrl.get(requests.url) ?? chatBatches,
    ask: (signal) =>
      resources
        .json({ method: 'POST', path: '/batches', headers, body, isAnswer: hasId, signal })
        .catch((error: unknown) => {
          if (!(error instanceof ProviderFailure)) throw error;
          throw error.renamed(providerFileId, objectId(filePrefix, inputFileId));
        }),
    toClient: (object) =>
      shownBatch(object, { id, inputFileId, outputFileId: null, errorFileId: null, ended: false }),
  });
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
