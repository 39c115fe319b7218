/** A model of Amazon Bedrock for vectors of texts, by InvokeModel. */
export interface BedrockEmbedder {
  /** The vendor. Its models share a body. */
  vendor: 'titan' | 'titan-image' | 'nova' | 'cohere';
  /** The maximum of texts for one call. */
  textsPerCall: number;
  /** Dimensions available to a request. */
  dimensions: readonly number[];
  /** The vendor's name of the field for them; null for a model with one dimension. */
  dimensionsField: string | null;
}

const oneText = { textsPerCall: 1 } as const;
const titan = { vendor: 'titan', ...oneText } as const;
const cohere = { vendor: 'cohere', textsPerCall: 96 } as const;

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html */
const embedders: readonly (readonly [RegExp, BedrockEmbedder])[] = [
  [
    /\bamazon\.titan-embed-text-v2\b/,
    { ...titan, dimensions: [256, 512, 1_024], dimensionsField: 'dimensions' },
  ],
  [
    /\bamazon\.titan-embed-(?:text-v1|g1-text-02)\b/,
    { ...titan, dimensions: [1_536], dimensionsField: null },
  ],
  [
    /\bamazon\.titan-embed-image-v1\b/,
    {
      ...oneText,
      ...{ vendor: 'titan-image', dimensions: [256, 384, 1_024], dimensionsField: 'outputEmbeddingLength' },
    },
  ],
  // https://docs.aws.amazon.com/nova/latest/userguide/embeddings-schema.html
  [
    /\bamazon\.nova-2-multimodal-embeddings-v1\b/,
    {
      ...oneText,
      ...{ vendor: 'nova', dimensions: [256, 384, 1_024, 3_072], dimensionsField: 'embeddingDimension' },
    },
  ],
  [
    /\bcohere\.embed-v4\b/,
    { ...cohere, dimensions: [256, 512, 1_024, 1_536], dimensionsField: 'output_dimension' },
  ],
  [
    /\bcohere\.embed-(?:english|multilingual)-v3\b/,
    { ...cohere, dimensions: [1_024], dimensionsField: null },
  ],
];

/**
 * By the name, also behind the name of a profile for several regions; null unless the model is known to make vectors.
 */
export function bedrockEmbedder(model: string): BedrockEmbedder | null {
  return embedders.find(([name]) => name.test(model))?.[1] ?? null;
}

/** Whether a model distinguishes the purposes of vectors. */
export function takesPurpose(embedder: BedrockEmbedder | null): boolean {
  return embedder !== null && ['nova', 'cohere'].includes(embedder.vendor);
}

/** Purposes of vectors, as Cohere's models name them. */
export const inputTypes = ['search_document', 'search_query', 'classification', 'clustering'] as const;

/**
 * Models of Vertex AI for vectors of texts by `predict`
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api).
 */
const names: readonly (readonly [RegExp, number])[] = [
  [/^gemini-embedding-001$/, 1],
  // A call takes 20,000 tokens: five texts of 2,048 counted tokens, with room.
  [/^text-(?:multilingual-)?embedding-\d+/, 5],
];

/** The maximum of texts for one call; null unless the model is known to make vectors. */
export function vertexTextsPerCall(model: string): number | null {
  return names.find(([name]) => name.test(model))?.[1] ?? null;
}
