/** More than any model has, and little enough that 64 vectors fit in one message of gRPC. */
const maxDimensions = 8_192;

/**
 * The vectors of an embeddings answer, in the order of its texts. Null unless there is one vector for each text, all of
 * one dimension, of numbers that a 32-bit float can hold.
 */
export function readEmbeddings(bytes: Buffer, texts: number): number[][] | null {
  const { data } = Object(JSON.parse(bytes.toString('utf8'))) as { data?: unknown };
  if (!Array.isArray(data) || data.length !== texts) return null;
  const vectors = new Map<unknown, number[]>();
  for (const [place, entry] of data.entries()) {
    const { index = place, embedding } = Object(entry) as { index?: unknown; embedding?: unknown };
    if (isVector(embedding)) vectors.set(index, embedding);
  }
  const ordered = Array.from({ length: texts }, (_, index) => vectors.get(index) ?? []);
  const dimensions = ordered[0]?.length ?? 0;
  const fits = dimensions > 0 && dimensions <= maxDimensions;
  return fits && ordered.every(({ length }) => length === dimensions) ? ordered : null;
}

function isVector(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.every((part) => typeof part === 'number' && Number.isFinite(Math.fround(part)))
  );
}
