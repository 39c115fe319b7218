import { elementRanges, isParsable, memberRanges, parsedPart, wholeOf } from '../wire/json-parts.ts';
import { maxDimensions } from '../bounds.ts';
import { decoded } from './embedding-encoding.ts';

/**
 * The vectors of an embeddings answer, in the order of its texts. Null unless there is one vector for each text, all of
 * one dimension, of numbers within a 32-bit float.
 */
export async function readEmbeddings(
  bytes: Buffer,
  { texts, tenantId }: { texts: number; tenantId: string | null },
): Promise<number[][] | null> {
  const data = await entriesOf(bytes, texts, tenantId);
  if (!Array.isArray(data) || data.length !== texts) return null;
  const vectors = new Map<unknown, number[]>();
  for (const [place, entry] of data.entries()) {
    const { index = place, embedding } = Object(entry) as { index?: unknown; embedding?: unknown };
    const vector = decoded(embedding) ?? embedding;
    if (isVector(vector)) vectors.set(index, vector);
  }
  const ordered = Array.from({ length: texts }, (_, index) => vectors.get(index) ?? []);
  const dimensions = ordered[0]?.length ?? 0;
  const fits = dimensions > 0 && dimensions <= maxDimensions;
  return fits && ordered.every(({ length }) => length === dimensions) ? ordered : null;
}

/** The entries of `data`, each parsed by itself if together they are too large. */
async function entriesOf(bytes: Buffer, texts: number, tenantId: string | null): Promise<unknown> {
  const whole = wholeOf(bytes);
  if (await isParsable(bytes, whole, tenantId))
    return (Object(await parsedPart(bytes, whole, tenantId)) as { data?: unknown }).data;
  const range = (await memberRanges(bytes, whole, tenantId))?.get('data');
  const entries = range && (await elementRanges(bytes, range, { tenantId, max: texts + 1 }));
  const read: unknown[] = [];
  for (const entry of entries ?? [])
    read.push((await isParsable(bytes, entry, tenantId)) ? await parsedPart(bytes, entry, tenantId) : null);
  return read;
}

function isVector(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.every((part) => typeof part === 'number' && Number.isFinite(Math.fround(part)))
  );
}
