import { readModel } from './chat-request.ts';
import { RefusedRequest } from './errors.ts';
import type { Fault } from './faults.ts';
import { isObject, isWholeNumber } from './values.ts';
import type { JsonObject } from './values.ts';

export interface EmbeddingUsage {
  prompt_tokens: number;
  total_tokens: number;
}

export interface EmbeddingRequest {
  model: string;
  inputs: (string | number[])[];
  dimensions: number;
  base64: boolean;
}

const defaultDimensions = 8;
const maxDimensions = 8192;

/** @throws RefusedRequest (400) for inputs and options that OpenAI rejects. */
export function readEmbeddingRequest(body: unknown): EmbeddingRequest {
  if (!isObject(body)) throw new RefusedRequest('We could not parse the JSON body of your request.');
  const format = body['encoding_format'] ?? 'float';
  if (format !== 'float' && format !== 'base64') {
    throw new RefusedRequest("Invalid 'encoding_format': expected float or base64.", {
      param: 'encoding_format',
    });
  }
  return {
    model: readModel(body),
    inputs: readInputs(body['input']),
    dimensions: readDimensions(body),
    base64: format === 'base64',
  };
}

export function embeddingUsage(request: EmbeddingRequest, fault: Fault): EmbeddingUsage {
  const counted = request.inputs.reduce(
    (tokens, input) => tokens + (typeof input === 'string' ? Math.ceil(input.length / 4) : input.length),
    0,
  );
  const tokens = fault.usage?.prompt_tokens ?? counted;
  return { prompt_tokens: tokens, total_tokens: tokens };
}

export function embeddingBody(request: EmbeddingRequest, usage: EmbeddingUsage, fault: Fault): string {
  return JSON.stringify({
    object: 'list',
    data: request.inputs.map((input, index) => {
      const vector = embed(input, request.dimensions);
      return { object: 'embedding', index, embedding: request.base64 ? toBase64(vector) : [...vector] };
    }),
    model: request.model,
    usage: fault.no_usage === true ? undefined : usage,
  });
}

/**
 * A unit vector from the vectors of the words, so that texts with common words are closer to each other. Sufficient for
 * tests of recall, and deterministic.
 */
export function embed(input: string | number[], dimensions: number): Float32Array {
  const words =
    typeof input === 'string' ? (input.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) : input.map(String);
  const sum = new Float64Array(dimensions);
  for (const word of words.length === 0 ? [String(input)] : words) addWord(sum, word);
  const length = Math.hypot(...sum);
  // If the words cancel each other out, uses a fixed axis, so that the result is still a unit vector.
  if (length === 0) return Float32Array.from(sum, (_, index) => (index === 0 ? 1 : 0));
  return Float32Array.from(sum, (value) => value / length);
}

function addWord(sum: Float64Array, word: string): void {
  let state = 0x811c9dc5;
  for (let index = 0; index < word.length; index++) {
    state = Math.imul(state ^ word.charCodeAt(index), 0x01000193); // FNV-1a
  }
  for (let index = 0; index < sum.length; index++) {
    state = (state + 0x6d2b79f5) | 0; // mulberry32
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    sum[index] = (sum[index] ?? 0) + ((mixed ^ (mixed >>> 14)) >>> 0) / 0x80000000 - 1;
  }
}

function toBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString('base64');
}

function readInputs(input: unknown): (string | number[])[] {
  if (typeof input === 'string' && input !== '') return [input];
  if (isTokens(input)) return [input];
  if (Array.isArray(input) && input.length > 0) {
    if (input.every((entry) => typeof entry === 'string' && entry !== '')) return input as string[];
    if (input.every(isTokens)) return input;
  }
  throw new RefusedRequest("'input' must be a non-empty string, strings, tokens or arrays of tokens.", {
    param: 'input',
  });
}

function isTokens(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every(isWholeNumber);
}

function readDimensions(body: JsonObject): number {
  const value = body['dimensions'] ?? defaultDimensions;
  if (isWholeNumber(value) && value >= 1 && value <= maxDimensions) return value;
  throw new RefusedRequest(`Invalid 'dimensions': expected an integer from 1 to ${maxDimensions}.`, {
    param: 'dimensions',
  });
}
