import { open } from 'node:fs/promises';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { CredentialsError } from '../credentials.ts';
import { smallAnswerBytes } from '../../bounds.ts';

/** `fetch` for issuers of tokens: without redirects, and with at most 64 KiB of an answer. */
export async function boundedFetch(url: string | URL, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: 'error' });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  if (response.body !== null)
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > smallAnswerBytes) throw new CredentialsError('the answer of the issuer is too large');
      chunks.push(chunk);
    }
  const { status, headers } = response;
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers: new Headers(headers) });
}

/** The fields of the answer to a form (RFC 6749). Throws `CredentialsError` for an error, with its code alone. */
export async function postForm(
  url: string,
  form: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Fields> {
  const body = new URLSearchParams(form);
  const response = await boundedFetch(url, {
    method: 'POST',
    body,
    signal,
    headers: { accept: 'application/json' },
  });
  const fields: unknown = await response.json().catch(() => null);
  if (response.ok && isFields(fields)) return fields;
  const error = isFields(fields) ? fields['error'] : undefined;
  const code = typeof error === 'string' && /^\w{1,60}$/.test(error) ? `: ${error}` : '';
  throw new CredentialsError(`the token endpoint answered ${response.status}${code}`);
}

/** A token fit for a header. Throws `CredentialsError` for anything else. */
export function tokenIn(value: unknown): string {
  if (typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)) return value;
  throw new CredentialsError('the token endpoint returned no token');
}

/** The text of a small file, as it is now. Throws `CredentialsError`. */
export async function smallFile(path: string): Promise<string> {
  try {
    await using file = await open(path);
    const buffer = Buffer.alloc(smallAnswerBytes + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead > smallAnswerBytes) throw new Error('too large');
    return buffer.toString('utf8', 0, bytesRead).trim();
  } catch (error) {
    const { code = 'it is too large' } = error as NodeJS.ErrnoException;
    throw new CredentialsError(`the file ${path} can't be read: ${code}`);
  }
}
