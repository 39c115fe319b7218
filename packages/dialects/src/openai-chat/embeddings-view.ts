import { AppError } from '@gatehouse/kit/errors';
import { isFields } from '@gatehouse/kit/fields';
import { estimateTokens, type TextSample } from '../usage/token-estimate.ts';
import { readUsage } from '../usage/usage-reader.ts';
import { elementRanges, memberRanges, parsedPart, wholeOf, type Range } from '../wire/json-parts.ts';
import type { AnsweringModel, AnswerView } from '../dialect.ts';
import type { UpstreamApi } from '../upstream-api.ts';

/** The most texts of a request, as OpenAI has it. */
export const maxInputs = 2_048;

/** Names of the members of an answer in another API. */
interface Shape {
  list: string;
  vector: string;
  usage: string;
}

const shapes: Partial<Record<UpstreamApi, Shape>> = {
  gemini: { list: 'embeddings', vector: 'values', usage: 'usageMetadata' },
  // Answers of Bedrock's embedding models, which are joined.
  converse: { list: 'data', vector: 'embedding', usage: 'usage' },
};

/** Shows embeddings of other APIs as those of OpenAI's, which stay as they are. */
export class EmbeddingsView implements AnswerView {
  /** Texts of the request, for an answer that does not say how many tokens they have. */
  readonly #sample: TextSample;
  readonly #isBase64: boolean;

  constructor(sample: TextSample, isBase64: boolean) {
    this.#sample = sample;
    this.#isBase64 = isBase64;
  }

  frame(frame: Buffer): Buffer {
    return frame;
  }

  /** Throws `provider_invalid_response` for an answer without vectors. */
  async whole(bytes: Buffer, tenantId: string, { api, upstreamModel }: AnsweringModel): Promise<Buffer> {
    const shape = shapes[api];
    if (shape === undefined) return bytes;
    const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
    const list = members?.get(shape.list);
    const entries = list && (await elementRanges(bytes, list, { tenantId, max: maxInputs }));
    if (!entries) throw invalid();
    const pieces: Buffer[] = [];
    for (const [index, entry] of entries.entries()) {
      const values = (await memberRanges(bytes, entry, tenantId))?.get(shape.vector);
      if (values === undefined) throw invalid();
      const head = `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":`;
      pieces.push(Buffer.from(head), await this.#vector(bytes, values, tenantId), Buffer.from('}'));
    }
    const usage = members?.get(shape.usage);
    const tokens = await this.#tokens(usage && (await parsedPart(bytes, usage, tenantId)));
    const end = {
      model: upstreamModel,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
    return Buffer.concat([
      Buffer.from('{"object":"list","data":['),
      ...pieces,
      Buffer.from(`],${JSON.stringify(end).slice(1)}`),
    ]);
  }

  async #vector(bytes: Buffer, values: Range, tenantId: string): Promise<Buffer> {
    if (!this.#isBase64) return bytes.subarray(values.from, values.until);
    const vector = await parsedPart(bytes, values, tenantId);
    if (!Array.isArray(vector) || !vector.every((value) => typeof value === 'number')) throw invalid();
    const floats = Buffer.alloc(vector.length * floatBytes);
    for (const [index, value] of vector.entries()) floats.writeFloatLE(value, index * floatBytes);
    return Buffer.from(`"${floats.toString('base64')}"`);
  }

  async #tokens(usage: unknown): Promise<number> {
    const reported = isFields(usage) ? readUsage(usage) : null;
    return reported?.inputTokens ?? estimateTokens(this.#sample);
  }
}

const floatBytes = 4;

function invalid(): AppError {
  return new AppError('provider_invalid_response', 'The provider returned no embeddings.');
}
