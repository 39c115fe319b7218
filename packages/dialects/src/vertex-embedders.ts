/**
 * Models of Vertex AI that make vectors of texts by `predict`
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api).
 */
const names: readonly (readonly [RegExp, number])[] = [
  [/^gemini-embedding-001$/, 1],
  // A call takes 20,000 tokens: five texts of the 2,048 tokens that count, with room.
  [/^text-(?:multilingual-)?embedding-\d+/, 5],
];

/** The most texts of one call; null for a model that isn't known to make vectors. */
export function vertexTextsPerCall(model: string): number | null {
  return names.find(([name]) => name.test(model))?.[1] ?? null;
}
