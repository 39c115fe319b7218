import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { expiresAfter } from '@gatehouse/contract/files';
import { clientLeft } from '@gatehouse/http/body';
import { streamBody } from '@gatehouse/http/body-stream';
import type { PaceOptions } from '@gatehouse/http/pace-check';
import { fingerprintHash, type StreamedFingerprint } from '@gatehouse/http/idempotency-key';
import type { Principal } from '@gatehouse/identity/principal';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';

/** Pace an upload must keep, so it holds its slot for no longer than it needs. */
export interface UploadPace extends Required<PaceOptions> {
  /** From the first byte to the last. */
  mostMs: number;
}

export interface UploadFormOptions {
  pace: UploadPace;
  principal: Pick<Principal, 'keyId' | 'userId'>;
  /** In bytes. */
  limit: number;
}

/**
 * A form with the file of a batch, as it arrives: the fields may come before the file or behind it. Forms with the same
 * file under the same name have the same fingerprint, since clients make a new boundary for each request.
 */
export class UploadForm implements StreamedFingerprint {
  /** The client's name for the file, once its first bytes have come. */
  filename = 'file.jsonl';
  readonly #request: IncomingMessage;
  readonly #options: UploadFormOptions;
  readonly #fields = new Map<string, string>();
  readonly #startedAt = monotonicMs();
  #known: Buffer | null = null;
  #expiresAfterS: number | null = null;

  constructor(request: IncomingMessage, options: UploadFormOptions) {
    this.#request = request;
    this.#options = options;
  }

  get known(): Buffer | null {
    return this.#known;
  }

  /** Seconds from the file's creation to its end, once the form has ended; null without the client's wish. */
  get expiresAfterS(): number | null {
    return this.#expiresAfterS;
  }

  async rest(): Promise<Buffer> {
    for await (const _chunk of this.file());
    if (this.#known === null) throw new Error('the form was read before');
    return this.#known;
  }

  /** The bytes of the file. Throws a 400 for any other form, at its end at the latest. */
  async *file(): AsyncGenerator<Buffer, void> {
    const { principal, limit, pace } = this.#options;
    const stopping = new AbortController();
    const hash = fingerprintHash(principal, this.#request.url ?? '');
    const opened = Promise.withResolvers<Readable | null>();
    const parser = this.#parser((file) => opened.resolve(file));
    const parsed = pipeline(Readable.from(streamBody(this.#request, limit, pace)), parser, {
      signal: stopping.signal,
    });
    let file: Readable | null = null;
    const fail = (error: unknown): void => {
      opened.reject(error);
      if (error instanceof Error) file?.destroy(error);
    };
    parsed.then(() => opened.resolve(null), fail);
    try {
      file = await opened.promise;
      if (file === null) throw missing('file');
      hash.update(JSON.stringify(this.filename));
      for await (const chunk of file as AsyncIterable<Buffer>) {
        if (monotonicMs() - this.#startedAt > pace.mostMs) throw tooLong(pace);
        hash.update(chunk);
        yield chunk;
      }
      await parsed;
      this.#check();
      if (this.#expiresAfterS !== null) hash.update(`expires after ${this.#expiresAfterS}`);
      this.#known = hash.digest();
    } catch (error) {
      throw this.#asAppError(error);
    } finally {
      stopping.abort();
    }
  }

  #parser(onFile: (file: Readable) => void): BusboyInstance {
    const type = this.#request.headers['content-type'] ?? '';
    const limits = {
      files: 1,
      fields: 8,
      fieldSize: 64,
      fieldNameSize: 64,
      headerPairs: 16,
      parts: 9,
    };
    let parser: BusboyInstance;
    try {
      parser = new Busboy({
        headers: { 'content-type': type },
        limits: { ...limits, fileSize: this.#options.limit },
      });
    } catch (cause) {
      throw badForm(cause);
    }
    parser.on('file', (name, file, filename) => {
      if (filename !== '') this.filename = filename.slice(0, 255);
      if (name === 'file') onFile(file);
      else parser.destroy(unknownField(name));
    });
    parser.on('field', (name, value) => this.#fields.set(name, value));
    const refuse = (): unknown => parser.destroy(badForm());
    parser.on('filesLimit', refuse).on('fieldsLimit', refuse).on('partsLimit', refuse);
    return parser;
  }

  #check(): void {
    for (const name of this.#fields.keys()) if (!knownFields.has(name)) throw unknownField(name);
    const purpose = this.#fields.get('purpose');
    if (purpose === undefined) throw missing('purpose');
    if (purpose !== 'batch')
      throw new AppError('invalid_value', 'purpose must be batch: other files are not taken.', {
        param: 'purpose',
      });
    this.#expiresAfterS = expirySeconds(this.#fields);
  }

  #asAppError(error: unknown): unknown {
    if (error instanceof AppError) return error;
    // Node destroys a request after all of it was read, too.
    const { destroyed, complete } = this.#request;
    return destroyed && !complete ? clientLeft() : badForm(error);
  }
}

const expiry = 'expires_after';
const [anchorField, secondsField] = [`${expiry}[anchor]`, `${expiry}[seconds]`];
const knownFields: ReadonlySet<string> = new Set(['purpose', expiry, anchorField, secondsField]);

/** The seconds of `expires_after`: two fields, as OpenAI's SDKs write it, or one with JSON. Null without it. */
function expirySeconds(fields: ReadonlyMap<string, string>): number | null {
  const whole = fields.get(expiry);
  const parts = { anchor: fields.get(anchorField), seconds: fields.get(secondsField) };
  const hasParts = parts.anchor !== undefined || parts.seconds !== undefined;
  if (whole === undefined && !hasParts) return null;
  if (whole !== undefined && hasParts) throw badExpiry('must be one field with JSON, or one of each member');
  const value = whole === undefined ? parts : jsonOf(whole);
  const { success, data } = expiresAfter.safeParse(value);
  if (success) return data.seconds;
  throw badExpiry('must have the anchor created_at, and seconds from 3600 to 2592000');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function badExpiry(problem: string): AppError {
  return new AppError('invalid_value', `${expiry} ${problem}.`, { param: expiry });
}

function tooLong({ mostMs }: UploadPace): AppError {
  return new AppError('request_timeout', `An upload must not take longer than ${mostMs / 60_000} minutes.`);
}

function missing(param: string): AppError {
  return new AppError('missing_required_parameter', `The form has no ${param}.`, { param });
}

function unknownField(name: string): AppError {
  const param = name.slice(0, 64);
  return new AppError('unknown_parameter', `Unknown field of the form: ${param}.`, { param });
}

function badForm(cause?: unknown): AppError {
  return new AppError('invalid_value', 'The request body is no form with the fields purpose and file.', {
    cause,
  });
}
