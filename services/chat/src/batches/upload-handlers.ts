import { hasId, requiredId } from './batch-api.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { leaving, tenantOf, type Call, type RawCall } from '@gatehouse/http/app';
import { streamedRequest, type Claim } from '@gatehouse/http/idempotency-key';
import type { Reply } from '@gatehouse/http/reply';
import { dayMs } from '@gatehouse/kit/bounds';
import { nowMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import type { Model } from '../catalogue/catalogue.ts';
import type { KeyName, ProviderResources } from '../providers/resources.ts';
import { storedDays, type KeySettings } from '../shared/tenant-settings.ts';
import {
  acceptedKey,
  answering,
  asAppError,
  asMissing,
  isRefused,
  targetsFor,
  type BatchDependencies,
} from './batch-call-handlers.ts';
import { beginFile, dropUpload, seekUpload, showFile } from './file-store.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import { groupsOfUser, noGroups, type FindUser } from '../shared/acting-user.ts';
import { InputLines } from './input-line-handlers.ts';
import { LineGuardrails } from './line-guardrails.ts';
import { nameAtProvider, shownFile } from './openai-batch.ts';
import { UploadForm, type UploadPace } from './upload-form-handlers.ts';
import { Readable } from 'node:stream';
import { mostFiles, uploadAnswerMs, uploadLookMs } from '../bounds.ts';

export interface UploadDependencies extends BatchDependencies {
  guardrails: Guardrails;
  findUser: FindUser;
  uploadPace: UploadPace;
}

/**
 * Passes a file on to its provider. A repeat with the same `Idempotency-Key` and file gets the first answer, once all of
 * it has arrived.
 */
export async function answerUpload(
  dependencies: UploadDependencies,
  { request, response, call }: { request: IncomingMessage; response: ServerResponse; call: RawCall },
): Promise<Reply> {
  const { idempotency } = dependencies;
  const options = { principal: tenantOf(call), limit: call.route.bodyLimit };
  const form = new UploadForm(request, { ...options, pace: dependencies.uploadPace });
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
  dependencies: UploadDependencies,
  form: UploadForm,
  { call, response }: { call: UploadCall; response: ServerResponse },
): Promise<Fields> {
  const principal = tenantOf(call);
  const { tenantId, userId } = principal;
  await dependencies.counts.count(tenantId, 'file_uploads');
  const settings = await dependencies.settings.getForKey(principal, call);
  const guardrails = await lineGuardrails(dependencies, settings, call);
  const lines = new InputLines(targetsFor(dependencies, { settings, userId }), { tenantId, guardrails });
  const id = newId();
  const body = new UploadBody(lines.checked(form.file()), nameAtProvider(id));
  try {
    await body.begin();
    const upload = { lines, form, body, id, guardrails };
    return await passOn(dependencies, upload, { call, settings, left: leaving(response) });
  } finally {
    body.close();
  }
}

type UploadCall = RawCall & Pick<Call, 'claim'>;

interface Upload {
  lines: InputLines;
  guardrails: LineGuardrails;
  form: UploadForm;
  body: UploadBody;
  /** The id of the file. */
  id: string;
}

async function passOn(
  dependencies: UploadDependencies,
  { lines, guardrails, form, body, id }: Upload,
  { call, settings, left }: { call: UploadCall; settings: KeySettings; left: AbortSignal },
): Promise<Fields> {
  const { pool, sealed } = dependencies;
  const { tenantId, userId } = tenantOf(call);
  const requests = lines.requests;
  if (requests === null) throw new Error('the first line names the model');
  const { model, target } = requests;
  const wanted = { model, target, tenantId, signal: left };
  const { resources, key } = await acceptedKey(dependencies, 'openai', wanted);
  const lookAfterMs = dependencies.uploadPace.mostMs + uploadLookMs;
  const days = storedDays(settings);
  const bounds = { days, most: mostFiles, lookAfterMs };
  if (!(await beginFile(pool, { id, key }, { tenantId, userId, ...bounds }))) throw tooManyFiles();
  const sending = { id, tenantId, model, key, resources, body, left };
  const { answer, providerFileId } = await sent(dependencies, sending);
  const object = { ...answer, ...expiryOf(answer, form, days), filename: form.filename };
  const content = sealed.seal(object, { id, tenantId });
  const { expiresAfterS } = form;
  const sum = { ...requests.sum, ...guardrails.checked };
  const file = { id, providerFileId, requests: JSON.stringify(sum), content, expiresAfterS };
  const clientFile = shownFile(object, { id });
  const within = answering(dependencies, call, clientFile);
  if (await showFile(pool, file, { tenantId, userId, within })) return clientFile;
  await deleteThere(dependencies, resources, providerFileId);
  throw new AppError('service_unavailable', 'The file was deleted while it was uploaded.');
}

/** The guardrails of a client's batches. */
export async function lineGuardrails(
  { guardrails, findUser }: Pick<UploadDependencies, 'guardrails' | 'findUser'>,
  settings: KeySettings,
  call: Pick<RawCall, 'principal' | 'requestId' | 'trace'>,
): Promise<LineGuardrails> {
  const { tenantId, userId, keyId: apiKeyId } = tenantOf(call);
  const { requestId, trace } = call;
  const groups =
    settings.guardrails === null
      ? noGroups
      : await groupsOfUser(findUser, settings, { tenantId, userId, requestId, trace });
  return new LineGuardrails({ guardrails, settings, actor: { tenantId, userId, apiKeyId, groups } });
}

/** The end of a file whose client has asked for one: no later than the tenant's own. */
function expiryOf({ created_at: created }: Fields, { expiresAfterS }: UploadForm, days: number): Fields {
  if (expiresAfterS === null) return {};
  const createdS = typeof created === 'number' ? created : Math.floor(nowMs() / 1_000);
  return { expires_at: createdS + Math.min(expiresAfterS, (days * dayMs) / 1_000) };
}

interface Sending {
  id: string;
  tenantId: string;
  model: Model;
  key: KeyName;
  resources: ProviderResources;
  body: UploadBody;
  left: AbortSignal;
}

/** Sends the form. If the provider may have the file without saying so, it is looked for there, and deleted. */
async function sent(
  { pool, log, uploadPace }: UploadDependencies,
  { id, tenantId, model, key, resources, body, left }: Sending,
): Promise<{ answer: Fields; providerFileId: string }> {
  const headers = { 'content-type': `multipart/form-data; boundary=${body.boundary}` };
  const signal = AbortSignal.any([
    uploadSignal(body, left),
    AbortSignal.timeout(uploadPace.mostMs + uploadAnswerMs),
  ]);
  try {
    const request = { method: 'POST', path: '/files', body: body.stream, isAnswer: hasId } as const;
    const answer = await resources.json({ ...request, signal, headers });
    return { answer, providerFileId: requiredId(answer) };
  } catch (error) {
    const isNotThere = !body.whole.aborted || isRefused(error);
    // If this fails, the file is looked for later.
    await (isNotThere ? dropUpload : seekUpload)(pool, id, tenantId).catch((err: unknown) =>
      log.warn({ err }, 'failed to end an upload'),
    );
    throw body.failure ?? asAppError(asMissing(error, model), key);
  }
}

/** Aborts when the client leaves before all of its file was passed on, and when the provider does not answer in time. */
function uploadSignal({ whole }: UploadBody, left: AbortSignal): AbortSignal {
  const stopping = new AbortController();
  const stopBy = (signal: AbortSignal): void => stopping.abort(signal.reason);
  const leave = (): void => {
    if (!whole.aborted) stopBy(left);
  };
  if (left.aborted) leave();
  left.addEventListener('abort', leave, { once: true });
  whole.addEventListener('abort', () => {
    const late = AbortSignal.timeout(uploadAnswerMs);
    late.addEventListener('abort', () => stopBy(late), { once: true });
  });
  return stopping.signal;
}

/** Deletes a file at a provider after its row was lost meanwhile. */
async function deleteThere(
  { log }: BatchDependencies,
  resources: ProviderResources,
  providerFileId: string,
): Promise<void> {
  const path = `/files/${encodeURIComponent(providerFileId)}`;
  await resources
    .json({ method: 'DELETE', path, isAnswer: hasId, signal: AbortSignal.timeout(10_000) })
    .catch((err: unknown) => log.warn({ err }, 'failed to delete a file at a provider'));
}

function tooManyFiles(): AppError {
  return new AppError('limit_reached', `A tenant may have ${mostFiles} files. Delete some first.`);
}

/** Form for the provider. */
class UploadBody {
  readonly boundary = `gatehouse-${newId()}`;
  readonly stream: Readable;
  /** Why the form broke off, if it did for a reason of the client. */
  failure: unknown = null;
  readonly #lines: AsyncGenerator<Buffer, void>;
  readonly #name: string;
  readonly #whole = new AbortController();
  #first: Buffer | null = null;

  /** `name`: the file's name at the provider. */
  constructor(lines: AsyncGenerator<Buffer, void>, name: string) {
    this.#lines = lines;
    this.#name = name;
    this.stream = Readable.from(this.#form(), { objectMode: false });
  }

  /** Aborted once all of the form was passed on, so the provider may have the file, whatever it answers. */
  get whole(): AbortSignal {
    return this.#whole.signal;
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
    yield Buffer.from(`${part}"file"; filename="${this.#name}"\r\n`);
    yield Buffer.from('content-type: application/jsonl\r\n\r\n');
    if (this.#first !== null) yield this.#first;
    try {
      yield* this.#lines;
    } catch (error) {
      this.failure = error;
      throw error;
    }
    this.#whole.abort();
    yield Buffer.from(`\r\n--${this.boundary}--\r\n`);
  }
}
