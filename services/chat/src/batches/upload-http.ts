import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { leaving, tenantOf, type Call, type RawCall } from '@gatehouse/http/app';
import { streamedRequest, type Claim } from '@gatehouse/http/idempotency-key';
import type { Reply } from '@gatehouse/http/reply';
import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import type { Model } from '../catalogue/catalogue.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderResources } from '../providers/resources.ts';
import { keptDays, type KeySettings } from '../shared/tenant-settings.ts';
import { answering, asAppError, type BatchDependencies } from './batch-calls-http.ts';
import { batchTarget } from './batch-requests.ts';
import { hasRoom, insertFile, type StoredFile, type Within } from './file-system-store.ts';
import { InputLines } from './input-lines-http.ts';
import { idIn, shownFile } from './openai-batch.ts';
import { UploadForm } from './upload-form-http.ts';

/** Files of a tenant. */
const mostFiles = 10_000;
/** How long a provider may take to accept a key. */
const keyMs = 30_000;

/**
 * Passes a file on to its provider. A repeat with the same `Idempotency-Key` and file gets the first answer, once all of
 * it has arrived.
 */
export async function answerUpload(
  dependencies: BatchDependencies,
  {
    request,
    response,
    call,
  }: { request: IncomingMessage; response: ServerResponse; call: RawCall },
): Promise<Reply> {
  const { idempotency } = dependencies;
  const form = new UploadForm(request, { principal: tenantOf(call), limit: call.route.bodyLimit });
  const keyed = streamedRequest(request, call, form);
  const work = async (claim: Claim | null): Promise<Reply> => ({
    body: await upload(dependencies, form, { call: { ...call, claim }, response }),
  });
  return keyed === null
    ? work(null)
    : idempotency.once(keyed, (claim) => idempotency.during(claim, () => work(claim)));
}

/** Passes a file on while it arrives, line by line. The provider gets no whole file unless every line is right. */
async function upload(
  dependencies: BatchDependencies,
  form: UploadForm,
  { call, response }: { call: UploadCall; response: ServerResponse },
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
  const body = new UploadBody(lines.checked(form.file()));
  try {
    await body.begin();
    return await passOn(dependencies, { lines, form, body }, { call, settings, signal: leaving(response) });
  } finally {
    body.close();
  }
}

type UploadCall = RawCall & Pick<Call, 'claim'>;

interface Upload {
  lines: InputLines;
  form: UploadForm;
  body: UploadBody;
}

async function passOn(
  dependencies: BatchDependencies,
  { lines, form, body }: Upload,
  { call, settings, signal }: { call: UploadCall; settings: KeySettings; signal: AbortSignal },
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
  const shown = shownFile(object, { id });
  const holder = { tenantId, userId };
  const within = answering(dependencies, call, shown);
  await keep(dependencies, file, { settings, holder, resources, within });
  return shown;
}

/** Stores a file that the provider has, or has it deleted there. */
async function keep(
  { pool, log }: BatchDependencies,
  file: StoredFile,
  {
    settings,
    holder,
    resources,
    within,
  }: {
    settings: KeySettings;
    holder: { tenantId: string; userId: string | null };
    resources: ProviderResources;
    within: Within;
  },
): Promise<void> {
  let isKept = false;
  try {
    const bounds = { days: keptDays(settings), most: mostFiles };
    isKept = await insertFile(pool, file, { ...holder, ...bounds, within });
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
