/** A model of Amazon Bedrock that makes vectors of texts, by InvokeModel. */
export interface BedrockEmbedder {
  /** The vendor, whose models share a body. */
  vendor: 'titan' | 'cohere';
  /** The most texts that one call takes. */
  textsPerCall: number;
  /** Dimensions that a request may ask for. */
  dimensions: readonly number[];
  /** The vendor's name of that field; null for a model that has one dimension. */
  dimensionsField: string | null;
}

const titan = { vendor: 'titan', textsPerCall: 1 } as const;
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
    /\bcohere\.embed-v4\b/,
    { ...cohere, dimensions: [256, 512, 1_024, 1_536], dimensionsField: 'output_dimension' },
  ],
  [
    /\bcohere\.embed-(?:english|multilingual)-v3\b/,
    { ...cohere, dimensions: [1_024], dimensionsField: null },
  ],
];

/** By the name, behind that of a profile for several regions, too; null for a model that isn't known to make vectors. */
export function bedrockEmbedder(model: string): BedrockEmbedder | null {
  return embedders.find(([name]) => name.test(model))?.[1] ?? null;
}

/** Purposes of vectors, which Cohere's models distinguish. */
export const inputTypes = ['search_document', 'search_query', 'classification', 'clustering'] as const;
