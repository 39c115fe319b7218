import type { Answer } from '../answer-format.ts';
import { embed } from '../embeddings.ts';
import { RefusedRequest } from '../errors.ts';
import type { RouteContext } from '../route.ts';
import { isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';

/** https://ai.google.dev/api/embeddings */

const defaultDimensions = 8;
const maxDimensions = 8_192;
const maxRequests = 100;

/** The vector of one content, or those of several. */
export function answerEmbeddings({ exchange, fault }: RouteContext, isBatch: boolean): Answer {
  const body = exchange.record.body;
  if (!isObject(body)) throw new RefusedRequest('Invalid JSON payload received.');
  const requests = isBatch ? objectsIn(body['requests']) : [body];
  if (requests.length === 0) throw new RefusedRequest('* BatchEmbedContentsRequest.requests: is empty');
  if (requests.length > maxRequests)
    throw new RefusedRequest(
      '* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch',
    );
  const texts = requests.map(textOf);
  const vectors = requests.map((request, index) => ({
    values: [...embed(texts[index] ?? '', dimensionsOf(request))],
  }));
  const counted = texts.reduce((tokens, text) => tokens + Math.ceil(text.length / 4), 0);
  const tokens = fault.usage?.prompt_tokens ?? counted;
  const usage = fault.no_usage === true ? {} : { usageMetadata: { promptTokenCount: tokens } };
  const whole = { ...(isBatch ? { embeddings: vectors } : { embedding: vectors[0] }), ...usage };
  return {
    id: null,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    ...{ streamed: false, frames: null, whole: () => JSON.stringify(whole) },
  };
}

function textOf({ content }: JsonObject): string {
  const parts = isObject(content) ? content['parts'] : undefined;
  const texts = (Array.isArray(parts) ? objectsIn(parts) : [parts].filter(isObject)).map(({ text }) => text);
  const text = texts.filter((each) => typeof each === 'string').join(' ');
  if (text === '') throw new RefusedRequest('* EmbedContentRequest.content: is empty');
  return text;
}

function dimensionsOf({ outputDimensionality: value = defaultDimensions }: JsonObject): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= maxDimensions)
    return value;
  throw new RefusedRequest('* EmbedContentRequest.output_dimensionality: is invalid');
}
