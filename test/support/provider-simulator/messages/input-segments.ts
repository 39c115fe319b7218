import { isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';

/** A part of the input, in the order in which a prompt cache reads it: tools, system, messages. */
export interface InputSegment {
  /** Equal for equal content; doesn't depend on `cache_control`. */
  text: string;
  tokens: number;
  /** The time to live of the cache entry that ends here; null if none does. */
  cached: '5m' | '1h' | null;
}

/** The parts of a request that count as input. A string and an array with one text block are the same. */
export function inputSegments(body: JsonObject): InputSegment[] {
  const segments = [
    ...objectsIn(body['tools']).map((tool) => segmentOf(tool, 'tool')),
    ...blocksOf(body['system']).map((block) => segmentOf(block, 'system')),
    ...objectsIn(body['messages']).flatMap((message) => segmentsOfMessage(message)),
  ];
  // Each request has a few tokens of its own, as chat's have.
  const [first] = segments;
  if (first !== undefined) first.tokens += 3;
  const last = segments.at(-1);
  if (last !== undefined) last.cached ??= timeToLive(body);
  return segments;
}

export function countTokens(segments: readonly InputSegment[]): number {
  return segments.reduce((tokens, segment) => tokens + segment.tokens, 0);
}

function segmentsOfMessage(message: JsonObject): InputSegment[] {
  const role = String(message['role']);
  const segments = blocksOf(message['content']).map((block) => segmentOf(block, role));
  const [first] = segments;
  if (first === undefined) return [{ text: role, tokens: 3, cached: null }];
  first.tokens += 3;
  return segments;
}

function blocksOf(content: unknown): JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : objectsIn(content);
}

/** Counts a quarter of the characters, of the text or of the JSON: inexact, but deterministic. */
function segmentOf(block: JsonObject, kind: string): InputSegment {
  const { cache_control: _mark, ...content } = block;
  const text = JSON.stringify(content);
  const counted = block['type'] === 'text' && typeof block['text'] === 'string' ? block['text'] : text;
  return { text: `${kind} ${text}`, tokens: Math.ceil(counted.length / 4), cached: timeToLive(block) };
}

function timeToLive(marked: JsonObject): InputSegment['cached'] {
  const control = marked['cache_control'];
  if (!isObject(control)) return null;
  return control['ttl'] === '1h' ? '1h' : '5m';
}
