/** Embeddings of texts by one model. */
export interface Embedded {
  /** The catalogue id of the model. */
  model: string;
  /** In the order of the texts. */
  vectors: readonly (readonly number[])[];
}

const floatBytes = 4;

/** A vector of length 1 in the same direction: the product of two is the cosine of their angle. */
export function normalised(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length));
}

/** As stored: 32-bit floats, little-endian. */
export function packVector(vector: Float32Array): Buffer {
  const packed = Buffer.allocUnsafe(vector.length * floatBytes);
  vector.forEach((value, index) => packed.writeFloatLE(value, index * floatBytes));
  return packed;
}

/** The cosine of the angle between a vector and a stored one; both have length 1. */
export function cosine(vector: Float32Array, packed: Buffer): number {
  let sum = 0;
  for (let index = 0; index < vector.length; index += 1)
    sum += (vector[index] ?? 0) * packed.readFloatLE(index * floatBytes);
  return Math.max(-1, Math.min(1, sum));
}

/** The signs of the components as text of PostgreSQL's type `bit varying`. */
export function sketchOf(vector: Float32Array): string {
  let bits = '';
  for (const value of vector) bits += value > 0 ? '1' : '0';
  return bits;
}
