import type { IncomingMessage } from 'node:http';
import { AppError } from '@gatehouse/kit/errors';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/**
 * Reads a request body of at most `limit` bytes. Throws `payload_too_large` past it, without keeping what came, and
 * `client_closed_request` when the client leaves before the end.
 */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (outcome: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      outcome();
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limit) {
        finish(() => reject(tooLarge(limit)));
      } else {
        chunks.push(chunk);
      }
    };
    const onEnd = (): void => {
      const [only] = chunks;
      finish(() => resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size)));
    };
    const onClose = (): void => {
      finish(() =>
        reject(new AppError('client_closed_request', 'The client left before its request was complete.')),
      );
    };
    // Gone before anybody listened: none of the events below would come.
    if (request.destroyed) onClose();
    else request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

export function tooLarge(limit: number): AppError {
  return new AppError('payload_too_large', `The request body is larger than ${limit} bytes.`);
}

/** Parses a JSON body. Throws `invalid_json` for malformed JSON and for bytes that are not UTF-8. */
export function parseJson(body: Buffer): unknown {
  let text: string;
  try {
    text = decoder.decode(body);
  } catch (error) {
    throw new AppError('invalid_json', 'The request body is not valid UTF-8.', { cause: error });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const detail = body.length === 0 ? 'it is empty' : 'check quotes, commas and brackets';
    throw new AppError('invalid_json', `The request body is not valid JSON: ${detail}.`, { cause: error });
  }
}

/** Whether a `content-type` header means JSON: `application/json` or a `+json` suffix (RFC 6839). */
export function isJson(contentType: string | undefined): boolean {
  const type = (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type);
}

/** Whether the request announces a body at all. */
export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}
