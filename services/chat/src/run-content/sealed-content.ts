import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { KeyRing } from '@gatehouse/secrets/key-ring';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);
/** More than all parts of a content together. */
const maxDocumentBytes = 16 * 1024 * 1024;

/** The context authenticated by the encryption of a content. */
export function contextOfContent({ id, tenantId }: { id: string; tenantId: string }): string {
  return JSON.stringify(['run content', tenantId, id]);
}

/** A content compressed, and then encrypted for its run. */
export async function sealContent(
  keyRing: KeyRing,
  run: { id: string; tenantId: string },
  document: Buffer,
): Promise<Buffer> {
  return keyRing.seal(await deflate(document), contextOfContent(run));
}

/** The reverse. Throws for the content of another run, and without its key. */
export async function openContent(
  keyRing: KeyRing,
  run: { id: string; tenantId: string },
  sealed: Buffer,
): Promise<Buffer> {
  return inflate(keyRing.open(sealed, contextOfContent(run)), { maxOutputLength: maxDocumentBytes });
}
