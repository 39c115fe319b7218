import { createHash, createHmac } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { SignatureV4 } from '@smithy/signature-v4';
import type { Credentials, OutgoingRequest } from '../credentials.ts';
import type { AwsKeys } from './aws.ts';
import { cachedCredentials, CredentialCache, type FetchCredential } from './credential-cache.ts';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';

/** Bytes to hash at once: in 3 ms without instructions for it. */
const pieceBytes = 1024 * 1024;

/** Signatures of AWS (SigV4) for requests to Bedrock at an address, with keys renewed ahead. */
export function signed(
  { region, base_url: address }: { region: string; base_url: string },
  fetchCredential: FetchCredential<AwsKeys>,
  onFailure: (error: Error) => void,
): Credentials {
  const { host } = new URL(address);
  const keys = new CredentialCache(fetchCredential, onFailure);
  const signer = new SignatureV4({
    ...{ service: 'bedrock', region, sha256: NodeSha256, applyChecksum: false },
    credentials: async () => keys.get(),
  });
  return cachedCredentials(keys, 403, async ({ path, body }: OutgoingRequest) => {
    const hash = await hashOf(body);
    const [pathname = '', query] = path.split('?', 2);
    const { headers } = await signer.sign({
      ...{ method: 'POST', protocol: 'https:', hostname: host, path: pathname },
      query: Object.fromEntries(new URLSearchParams(query)),
      headers: { host, 'content-type': 'application/json', 'x-amz-content-sha256': hash },
    });
    const { host: _host, ...proof } = headers;
    return proof;
  });
}

async function hashOf(body: Pieces): Promise<string> {
  const hash = createHash('sha256');
  let pieces = 0;
  for (const piece of body.parts(pieceBytes)) {
    if (pieces > 0) await setImmediate();
    hash.update(piece);
    pieces += 1;
  }
  return hash.digest('hex');
}

/** Hashes as the signer wants them. */
class NodeSha256 {
  #hash: ReturnType<typeof createHash | typeof createHmac>;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    this.#hash = createHash('sha256');
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data)
    ? Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    : Buffer.from(data);
}
