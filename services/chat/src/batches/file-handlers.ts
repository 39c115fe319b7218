import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ListFiles } from '@gatehouse/contract/files';
import { jsonLines } from '@gatehouse/contract/route';
import {
  leaving,
  tenantOf,
  type Call,
  type Handler,
  type RawCall,
  type RawHandler,
} from '@gatehouse/http/app';
import { checkBodyHeaders, clientLeft } from '@gatehouse/http/body';
import { doorHeaders, sendJson } from '@gatehouse/http/reply';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';
import type { Pool } from '@gatehouse/pg/pool';
import type { Catalogue, Model } from '../catalogue/catalogue.ts';
import { spentKey, wrongKey } from '../providers/key-status.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { KeyName, ProviderResources } from '../providers/resources.ts';
import { uuidIn } from '../shared/object-id.ts';
import { keptDays, type KeySettings } from '../shared/tenant-settings.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import { filePrefix } from './batch-ids.ts';
import { batchTarget } from './batch-requests.ts';
import { findFile, hasRoom, hideFile, insertFile, listFiles, type StoredFile } from './file-system-store.ts';
import { InputLines } from './input-lines-http.ts';
import { idIn, shownFile } from './openai-batch.ts';
import type { SealedObjects } from './sealed-object.ts';
import { UploadForm } from './upload-form-http.ts';

export interface BatchDependencies {
  pool: Pool;
  providers: ProviderRegistry;
  catalogue: Catalogue;
  settings: TenantSettingsClient;
  sealed: SealedObjects;
  log: Logger;
}

/** Files of a tenant. */
const mostFiles = 10_000;
/** Files of a page: each is decrypted. A client that asks for more finds `has_more`. */
const mostListed = 100;
/** How long a provider may take to accept a key. */
const keyMs = 30_000;
/** Statuses by which a provider refuses a key. */
const ownKeyRefusals: ReadonlySet<number> = new Set([wrongKey, spentKey, 403]);

/** An upload has lines in memory, and a connection to the provider. */
const uploadsInFlight = { perKey: 2, slots: 8, maxWaiting: 0, tooMany: tooMany('uploads') };
const readsInFlight = { perKey: 4, slots: 32, maxWaiting: 0, tooMany: tooMany('downloads') };

/** Files of batches, each for the tenant and the user that it was made for; others get a 404. */
export function fileHandlers(dependencies: BatchDependencies): {
  handlers: Record<string, Handler>;
  rawHandlers: Record<string, RawHandler>;
} {
  const { pool, sealed } = dependencies;
  const uploads = new FairQueue(uploadsInFlight);
  const reads = new FairQueue(readsInFlight);
  const shown = ({ id, content }: StoredFile, tenantId: string): Fields =>
    shownFile(sealed.open(content, { id, tenantId }), { id });
  return {
    rawHandlers: {
      'files.create': async (request, response, call) => {
        const { tenantId } = tenantOf(call);
        checkBodyHeaders(request, call.route);
        const file = await uploads.run(tenantId, () => upload(dependencies, { request, response, call }));
        sendJson(response, 200, file, doorHeaders(call.requestId, call.dialect));
      },
      'files.content': (request, response, call) =>
        reads.run(tenantOf(call).tenantId, () => sendContent(dependencies, { request, response, call })),
    },
    handlers: {
      'files.list': async (call: Call<unknown, ListFiles>) => {
        const { tenantId, userId } = tenantOf(call);
        const { after, order, purpose = null } = call.query;
        const limit = Math.min(call.query.limit, mostListed);
        const page = { after: pageAfter(filePrefix, after), limit: limit + 1, order, purpose };
        const files = await listFiles(pool, { tenantId, userId }, page);
        return {
          body: pageOf(
            files.map((file) => shown(file, tenantId)),
            limit,
          ),
        };
      },
      'files.get': async (call: Call) => {
        const file = await found(dependencies, call);
        return { body: shown(file, tenantOf(call).tenantId) };
      },
      'files.delete': async (call: Call) => {
        const id = uuidIn(filePrefix, call.params['file_id'] ?? '');
        if (id === null || !(await hideFile(pool, id, tenantOf(call)))) throw noFile();
        return { body: { id: call.params['file_id'], object: 'file', deleted: true } };
      },
    },
  };
}

/** The id after which a page begins. Throws a 400 for one that no object has. */
export function pageAfter(prefix: string, after: string | undefined): string | null {
  if (after === undefined) return null;
  const id = uuidIn(prefix, after);
  if (id === null)
    throw new AppError('invalid_value', 'after must be the id of the last object of a page.', {
      param: 'after',
    });
  return id;
}

/** A page in OpenAI's shape. `objects`: one more than it has, where another page follows. */
export function pageOf(objects: readonly Fields[], limit: number): Fields {
  const data = objects.slice(0, limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: objects.length > limit,
  };
}

export function noFile(): AppError {
  return new AppError('not_found', 'There is no such file.', { param: 'file_id' });
}

/** The provider's files and batches by the key that made them. Throws a 502 where that is gone. */
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

/** A provider's failure as its client gets it. `key`: the one that the provider was asked with. */
export function asAppError(error: unknown, key?: KeyName): unknown {
  if (!(error instanceof ProviderFailure)) return error;
  const { status = 0 } = error.details;
  const isOwnKeys = typeof key?.ownKeyId === 'string' && ownKeyRefusals.has(status);
  return (isOwnKeys ? new ProviderFailure('own_key', error.provider, { cause: error }) : error).toAppError();
}

async function found(
  { pool }: BatchDependencies,
  call: Pick<Call, 'params' | 'principal'>,
): Promise<StoredFile> {
  const id = uuidIn(filePrefix, call.params['file_id'] ?? '');
  const file = id === null ? null : await findFile(pool, id, tenantOf(call));
  if (file === null) throw noFile();
  return file;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  call: RawCall;
}

async function sendContent(
  dependencies: BatchDependencies,
  { request, response, call }: Exchange,
): Promise<void> {
  const file = await found(dependencies, call);
  const headers = { ...doorHeaders(call.requestId, call.dialect), 'content-type': jsonLines };
  const resources = await resourcesOf(dependencies, file.key, call);
  const path = `/files/${encodeURIComponent(file.providerFileId)}/content`;
  const content = await resources
    .stream({ method: 'GET', path, signal: leaving(response) })
    .catch((error: unknown) => {
      throw asAppError(error, file.key);
    });
  response.writeHead(200, headers);
  if (request.method === 'HEAD') {
    content.destroy();
    response.end();
    return;
  }
  try {
    await pipeline(content, response);
  } catch (error) {
    throw response.destroyed && !content.errored ? clientLeft() : asAppError(resources.broken(error));
  }
}

/** Passes a file on while it arrives, line by line. The provider gets no whole file unless every line is right. */
async function upload(
  dependencies: BatchDependencies,
  { request, response, call }: Exchange,
): Promise<Fields> {
  const { pool, catalogue, providers } = dependencies;
  const principal = tenantOf(call);
  const { tenantId, userId } = principal;
  const settings = await dependencies.settings.getForKey(principal, call);
  if (!(await hasRoom(pool, tenantId, mostFiles))) throw tooManyFiles();
  const choosing = { affinity: null, ordered: (model: Model) => providers.ordered(model, null) };
  const lines = new InputLines(
    (name, api) => batchTarget(catalogue, name, { api, settings, userId, choosing }),
    tenantId,
  );
  const form = new UploadForm(request, call.route.bodyLimit);
  const body = new UploadBody(lines.checked(form.file()));
  try {
    await body.begin();
    return await passOn(dependencies, { lines, form, body }, { call, settings, signal: leaving(response) });
  } finally {
    body.close();
  }
}

interface Upload {
  lines: InputLines;
  form: UploadForm;
  body: UploadBody;
}

async function passOn(
  dependencies: BatchDependencies,
  { lines, form, body }: Upload,
  { call, settings, signal }: { call: RawCall; settings: KeySettings; signal: AbortSignal },
): Promise<Fields> {
  const { providers, sealed } = dependencies;
  const { tenantId, userId } = tenantOf(call);
  const requests = lines.requests;
  if (requests === null) throw new Error('the first line names the model');
  const { target } = requests;
  const payer = { tenantId, ownKeys: target.ownKeys };
  const { resources, key } = await providers
    .resourcesFor(requests.model, payer, AbortSignal.any([signal, AbortSignal.timeout(keyMs)]))
    .catch((error: unknown) => {
      throw asAppError(error);
    });
  const answer = await resources
    .json({
      ...{ method: 'POST', path: '/files', body: body.stream, signal },
      headers: { 'content-type': `multipart/form-data; boundary=${body.boundary}` },
    })
    .catch((error: unknown) => {
      throw body.failure ?? asAppError(error, key);
    });
  const providerFileId = idIn(answer);
  if (providerFileId === null) throw asAppError(new ProviderFailure('invalid', key.provider));
  const id = newId();
  const object = { ...answer, filename: form.filename };
  const file: StoredFile = {
    ...{ id, purpose: 'batch', key, providerFileId, requests: JSON.stringify(requests.sum) },
    content: sealed.seal(object, { id, tenantId }),
  };
  await keep(dependencies, file, { settings, holder: { tenantId, userId }, resources });
  return shownFile(object, { id });
}

/** Stores a file that the provider has, or has it deleted there. */
async function keep(
  { pool, log }: BatchDependencies,
  file: StoredFile,
  {
    settings,
    holder,
    resources,
  }: {
    settings: KeySettings;
    holder: { tenantId: string; userId: string | null };
    resources: ProviderResources;
  },
): Promise<void> {
  let isKept = false;
  try {
    isKept = await insertFile(pool, file, { ...holder, days: keptDays(settings), most: mostFiles });
  } finally {
    if (!isKept) {
      const path = `/files/${encodeURIComponent(file.providerFileId)}`;
      await resources
        .json({ method: 'DELETE', path, signal: AbortSignal.timeout(10_000) })
        .catch((err: unknown) => log.warn({ err }, 'failed to delete a file at a provider'));
    }
  }
  if (!isKept) throw tooManyFiles();
}

/** The form that a provider gets. */
class UploadBody {
  readonly boundary = `gatehouse-${newId()}`;
  readonly stream: Readable;
  /** Why the form broke off, if it did for a reason of the client. */
  failure: unknown = null;
  readonly #lines: AsyncGenerator<Buffer, void>;
  #first: Buffer | null = null;

  constructor(lines: AsyncGenerator<Buffer, void>) {
    this.#lines = lines;
    this.stream = Readable.from(this.#form(), { objectMode: false });
  }

  /** Reads the first line, which decides the provider. */
  async begin(): Promise<void> {
    const { value } = await this.#lines.next();
    this.#first = value ?? null;
  }

  /** Stops reading. */
  close(): void {
    this.stream.destroy();
    // Not awaited: it settles once the client sends more.
    this.#lines.return().catch(() => undefined);
  }

  async *#form(): AsyncGenerator<Buffer, void> {
    const part = `--${this.boundary}\r\ncontent-disposition: form-data; name=`;
    yield Buffer.from(`${part}"purpose"\r\n\r\nbatch\r\n`);
    yield Buffer.from(`${part}"file"; filename="batch.jsonl"\r\ncontent-type: application/jsonl\r\n\r\n`);
    if (this.#first !== null) yield this.#first;
    try {
      yield* this.#lines;
    } catch (error) {
      this.failure = error;
      throw error;
    }
    yield Buffer.from(`\r\n--${this.boundary}--\r\n`);
  }
}

function tooManyFiles(): AppError {
  return new AppError('limit_reached', `A tenant may have ${mostFiles} files. Delete some first.`);
}

function tooMany(what: string): (isKeys: boolean) => AppError {
  return (isKeys) =>
    new AppError(
      isKeys ? 'rate_limit_exceeded' : 'service_unavailable',
      `Too many ${what} of files ${isKeys ? 'of this tenant ' : ''}are under way.`,
      { headers: retryAfterHeaders(1_000) },
    );
}
