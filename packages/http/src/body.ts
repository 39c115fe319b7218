import type { IncomingMessage } from 'node:http';
import type { Route } from '@gatehouse/contract/routes';
import { formData, jsonLines, urlEncoded } from '@gatehouse/contract/route';
import { ChunkList } from '@gatehouse/kit/chunk-list';
import { AppError, toAppError } from '@gatehouse/kit/errors';
import { openBrace, openBracket, smallBytes } from '@gatehouse/kit/json-bytes';
import { parsedAtOnce, scanPieces, type JsonScan } from '@gatehouse/kit/json-scan';
import { isLarger } from '@gatehouse/kit/json-size';
import { scanCooperatively } from '@gatehouse/kit/cooperative-scan';
import { parsedByTexts } from '@gatehouse/kit/json-long-texts';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { runSteps, cooperativeFor } from '@gatehouse/kit/cooperative-steps';
import type { AnonymousShare } from './anonymous-budget.ts';
import type { BodyShare, TenantShare } from '@gatehouse/kit/body-budget';
import { PaceWatch, type PaceOptions } from './pace-check.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

export interface ReadOptions extends PaceOptions {
  /**
   * Charged for the bytes as they arrive; the body waits for the turn of a tenant's share. The caller releases it at the
   * end of the request.
   */
  share?: BodyShare | AnonymousShare | TenantShare | undefined;
}

/**
 * Reads a request body of at most `limit` bytes. Throws `payload_too_large` for a larger one, `request_timeout` when
 * the body arrives too slowly, the errors of the share, and `client_closed_request` when the client disconnects before
 * the end. On an error, discards the received bytes and releases the share.
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  options: ReadOptions = {},
): Promise<Buffer> {
  const { share } = options;
  try {
    assertThere(request);
    // Awaited without a turn too: a caller within Node's event for the headers has the body of their packet one microtask
    // later.
    await (share !== undefined && 'enter' in share ? share.enter(announcedBytes(request)) : undefined);
    assertThere(request);
    const body = arrivedBody(request);
    if (body === null) return await arrivingBody(request, limit, options);
    if (body.length > limit) throw tooLarge(limit);
    share?.grow(body.length);
    return body;
  } catch (error) {
    share?.release();
    throw error;
  }
}

/** Throws if the client disconnected before there was a listener, as no event would fire. */
function assertThere({ destroyed }: IncomingMessage): void {
  if (destroyed) throw clientLeft();
}

/**
 * The body if all of it has arrived, as for a small request by the time its headers are checked; otherwise null. Spares
 * listeners and a timer. Node hands over the last byte, and runs all microtasks, before it sets `complete`.
 */
function arrivedBody(request: IncomingMessage): Buffer | null {
  const { complete, readableFlowing, readableLength } = request;
  if (readableFlowing !== null || !(complete || readableLength === announcedBytes(request))) return null;
  const body = (request.read() as Buffer | null) ?? Buffer.alloc(0);
  if (!complete) {
    request.complete = true;
    // Its `end` follows.
    request.resume();
  }
  return body;
}

function arrivingBody(
  request: IncomingMessage,
  limit: number,
  { share, ...pace }: ReadOptions,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks = new ChunkList(Math.min(limit, announcedBytes(request) ?? 0));
    const finish = (): void => {
      watch.stop();
      arrived?.();
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
    };
    const fail = (error: AppError): void => {
      finish();
      reject(error);
    };
    const watch = new PaceWatch(pace, fail);
    const arrived = share !== undefined && 'arriving' in share ? share.arriving(fail) : undefined;
    const onData = (chunk: Buffer): void => {
      watch.note(chunk.length);
      chunks.push(chunk);
      try {
        if (chunks.size > limit) throw tooLarge(limit);
        share?.grow(chunk.length);
      } catch (error) {
        fail(toAppError(error));
      }
    };
    const onEnd = (): void => {
      finish();
      resolve(chunks.concat());
    };
    const onClose = (): void => fail(clientLeft());
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

export function clientLeft(): AppError {
  return new AppError('client_closed_request', 'The client disconnected before its request was complete.');
}

export function tooLarge(limit: number): AppError {
  return new AppError('payload_too_large', `The request body is larger than ${limit} bytes.`);
}

export const maxJsonValues = parsedAtOnce.values;
const maxJsonDepth = parsedAtOnce.depth;
/** Names of what exceeds a limit, for clients. */
const counted = {
  values: 'JSON values',
  texts: 'names and texts in its JSON',
  escapes: 'escapes in its JSON',
  bare: 'bytes outside the texts of its JSON',
};

/**
 * Parses JSON of a mebibyte or a little more. Throws `invalid_json` for malformed or deeply nested JSON and bytes other
 * than UTF-8, and `payload_too_large` for too many values, because parsing blocks other requests.
 */
export function parseJson(body: Buffer): unknown {
  return parsedSoon(body, wholeBody);
}

/** The JSON an error is about. */
export interface NamedJson {
  what: string;
  param?: string;
}

const wholeBody: NamedJson = { what: 'The request body' };

/**
 * Parses a body of any size, a large one in turns of `tenantId` at the event loop. Throws as `parseJson` does, before the
 * rest is scanned.
 */
export async function parseBody(
  body: Buffer,
  tenantId: string | null,
  named: NamedJson = wholeBody,
): Promise<unknown> {
  if (body.length <= smallBytes) return parsedSoon(body, named);
  const longTexts = await scanCooperatively(body, tenantId, (scan) => assertWithin(scan, named));
  const reader = {
    decode: (json: Buffer): string => textOf(json, named),
    parse: (text: string): unknown => parsed(text, named),
  };
  return runSteps(parsedByTexts(body, longTexts, reader), cooperativeFor(body, tenantId));
}

function parsedSoon(body: Buffer, named: NamedJson): unknown {
  // A short one can only be too deep.
  const depth = maxJsonDepth;
  if (body.length > smallBytes || (opensMoreThan(body, depth) && isLarger(body, { values: Infinity, depth })))
    for (const scan of scanPieces(body)) assertWithin(scan, named);
  return parsed(textOf(body, named), named);
}

/** Whether JSON has more opening brackets than `most`, those in texts included; with fewer it can't be nested deeper. */
function opensMoreThan(json: Buffer, most: number): boolean {
  let left = most;
  for (const byte of [openBracket, openBrace])
    for (let at = json.indexOf(byte); at >= 0; at = json.indexOf(byte, at + 1))
      if ((left -= 1) < 0) return true;
  return false;
}

function textOf(body: Buffer, { what, param }: NamedJson): string {
  try {
    return decoder.decode(body);
  } catch (cause) {
    throw new AppError('invalid_json', `${what} is not valid UTF-8.`, { param, cause });
  }
}

function parsed(text: string, { what, param }: NamedJson): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const detail = text === '' ? 'it is empty' : 'check quotes, commas and brackets';
    throw new AppError('invalid_json', `${what} is not valid JSON: ${detail}.`, { param, cause });
  }
}

/** Throws `payload_too_large` if JSON has too many values to be parsed at once, and `invalid_json` if it is nested deeply. */
function assertWithin(scan: JsonScan, { what, param }: NamedJson): void {
  const exceeded = scan.exceeds(parsedAtOnce);
  if (exceeded === 'depth')
    throw new AppError('invalid_json', `${what} is nested more than ${maxJsonDepth} levels deep.`, { param });
  if (exceeded === undefined) return;
  const amount = `${parsedAtOnce[exceeded]} ${counted[exceeded]}`;
  throw new AppError('payload_too_large', `${what} has more than ${amount}.`, { param });
}

/** A part of reading a body. For a large one it waits until the turn of `tenantId` at the event loop has come. */
export function readPart<Result>(
  { length }: Buffer,
  tenantId: string | null,
  part: () => Result,
): Result | Promise<Result> {
  return length <= smallBytes ? part() : runCooperatively(tenantId, part);
}

/** Whether a `content-type` header means JSON: `application/json` or a `+json` suffix (RFC 6839). */
export function isJson(contentType: string | undefined): boolean {
  const type = mediaType(contentType);
  return type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type);
}

/** Whether a `content-type` header means the fields of a form. */
export function isForm(contentType: string | undefined): boolean {
  return mediaType(contentType) === urlEncoded;
}

/** A content type without its parameters. */
function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** Whether the request headers announce a body. */
export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** The `Content-Length` of a request; null for a chunked body. */
export function announcedBytes(request: IncomingMessage): number | null {
  const length = request.headers['content-length'];
  return length === undefined ? null : Number(length);
}

/** Throws 413 if the headers announce too large a body. */
export function checkBodySize(request: IncomingMessage, { bodyLimit }: Pick<Route, 'bodyLimit'>): void {
  if ((announcedBytes(request) ?? 0) > bodyLimit) throw tooLarge(bodyLimit);
}

type BodyRoute = Pick<Route, 'bodyLimit' | 'bodyLines' | 'bodyForm' | 'takesForm'>;

/**
 * Throws 413 or 415 if the headers show a body too large, of another content type than the route's, or encoded. The
 * size of a chunked body is checked as it arrives.
 */
export function checkBodyHeaders(
  request: IncomingMessage,
  { bodyLimit, bodyLines, bodyForm, takesForm }: BodyRoute,
): void {
  if (!hasBody(request)) return;
  checkBodySize(request, { bodyLimit });
  const type = request.headers['content-type'];
  const streamed = bodyLines !== undefined ? jsonLines : bodyForm !== undefined ? formData : null;
  const [fits, expected] =
    streamed === null
      ? [isJson(type) || (takesForm === true && isForm(type)), 'application/json']
      : [mediaType(type) === streamed, streamed];
  if (!fits) throw new AppError('unsupported_media_type', `The request body must be ${expected}.`);
  const encoding = request.headers['content-encoding']?.trim() ?? '';
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') {
    throw new AppError('unsupported_media_type', 'The request body must not be encoded (Content-Encoding).', {
      param: 'Content-Encoding',
    });
  }
}
