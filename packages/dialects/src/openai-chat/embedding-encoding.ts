import { colon, openBracket, quote } from '@gatehouse/kit/json-bytes';
import { maxEmbeddings } from '../bounds.ts';
import { elementRanges, memberRanges, parsedPart, wholeOf, type Range } from '../wire/json-parts.ts';

/**
 * Vectors as a list of numbers or as base64 of 32-bit floats, little-endian, as OpenAI's SDKs decode them
 * (https://platform.openai.com/docs/api-reference/embeddings/create#embeddings-create-encoding_format). These SDKs ask
 * for base64 by default, and take each answer for it; many servers know lists only.
 */

const floatBytes = 4;
const member = Buffer.from('"embedding"');

/** The same answer with its vectors in the requested encoding; these very bytes where they have it, or are none. */
export async function inEncoding(
  bytes: Buffer,
  { isBase64, tenantId }: { isBase64: boolean; tenantId: string },
): Promise<Buffer> {
  if (!hasOther(bytes, isBase64)) return bytes;
  const list = (await memberRanges(bytes, wholeOf(bytes), tenantId))?.get('data');
  const entries = list && (await elementRanges(bytes, list, { tenantId, max: maxEmbeddings + 1 }));
  if (!entries || entries.length > maxEmbeddings) return bytes;
  const pieces: Buffer[] = [];
  let copied = 0;
  for (const entry of entries) {
    const values = (await memberRanges(bytes, entry, tenantId))?.get('embedding');
    const written = values && (await encoded(bytes, values, { isBase64, tenantId }));
    if (!written) continue;
    pieces.push(bytes.subarray(copied, values.from), written);
    copied = values.until;
  }
  return copied === 0 ? bytes : Buffer.concat([...pieces, bytes.subarray(copied)]);
}

/** A list of numbers as base64, or the other way; null if the value is neither. */
export async function encoded(
  bytes: Buffer,
  values: Range,
  { isBase64, tenantId }: { isBase64: boolean; tenantId: string },
): Promise<Buffer | null> {
  const vector = await parsedPart(bytes, values, tenantId);
  if (!isBase64) {
    const floats = decoded(vector);
    return floats && Buffer.from(JSON.stringify(floats));
  }
  if (!Array.isArray(vector) || !vector.every((value) => typeof value === 'number')) return null;
  const floats = Buffer.alloc(vector.length * floatBytes);
  for (const [index, value] of vector.entries()) floats.writeFloatLE(value, index * floatBytes);
  return Buffer.from(`"${floats.toString('base64')}"`);
}

/** The numbers of a base64 text of whole floats; null for anything else. */
export function decoded(text: unknown): number[] | null {
  if (typeof text !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const floats = Buffer.from(text, 'base64');
  if (floats.length === 0 || floats.length % floatBytes !== 0) return null;
  const numbers = Array.from({ length: floats.length / floatBytes }, (_, index) =>
    floats.readFloatLE(index * floatBytes),
  );
  return numbers.every(Number.isFinite) ? numbers : null;
}

/** Whether a vector may be in the other encoding, by the byte with which it begins. */
function hasOther(bytes: Buffer, isBase64: boolean): boolean {
  const other = isBase64 ? openBracket : quote;
  for (let at = bytes.indexOf(member); at >= 0; at = bytes.indexOf(member, at + 1)) {
    const after = behindSpace(bytes, at + member.length);
    if (bytes[after] === colon && bytes[behindSpace(bytes, after + 1)] === other) return true;
  }
  return false;
}

function behindSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && (bytes[at] ?? 0) <= 0x20) at += 1;
  return at;
}
