import { createHash, createHmac } from 'node:crypto';
import type { ReceivedRequest } from './scripted-provider.ts';

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();

/**
 * The `authorization` that AWS expects of a request (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html),
 * by what the request itself says: computed step by step, without the library that the gateway uses.
 */
export function expectedSignature(
  { path, headers, body }: ReceivedRequest,
  { id, secret, region }: { id: string; secret: string; region: string },
): string {
  const [, signed = ''] = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? [];
  const time = String(headers['x-amz-date']);
  const scope = `${time.slice(0, 8)}/${region}/bedrock/aws4_request`;
  // Each segment is encoded once more.
  const canonicalPath = path.split('/').map(encodeURIComponent).join('/');
  const names = signed.split(';');
  const canonical = [
    ...['POST', canonicalPath, ''],
    ...names.map((name) => `${name}:${String(headers[name]).trim()}`),
    ...['', signed, sha256(body)],
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>((made, part) => hmac(made, part), `AWS4${secret}`);
  const signature = hmac(key, text).toString('hex');
  return `AWS4-HMAC-SHA256 Credential=${id}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
}
