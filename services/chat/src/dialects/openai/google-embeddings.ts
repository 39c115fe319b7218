import { AppError } from '@gatehouse/kit/errors';
import { isFields } from '@gatehouse/kit/fields';
import { openBracket, textEnd } from '@gatehouse/kit/json-bytes';
import { estimateTokens, type TextSample } from '../../usage/token-estimate.ts';
import { readUsage } from '../../usage/usage-reader.ts';
import { elementsOf, type Member } from '../../wire/json-members.ts';
import { elementRanges, memberRanges, parsedPart, wholeOf, type Range } from '../../wire/json-parts.ts';
import type { AnsweringModel, AnswerView, Rewrite } from '../dialect.ts';

/** OpenAI's embeddings with models of Google's API (https://ai.google.dev/api/embeddings): texts stay as they are written. */

/** As many as OpenAI takes. */
export const maxInputs = 2_048;

/** The request for `batchEmbedContents` with the texts of one whose input is a text, or a list of texts. */
export function asBatch(body: Buffer, { model }: Rewrite, members: readonly Member[]): Buffer {
  const named = (name: string): Member | undefined => members.findLast((member) => member.name === name);
  const input = named('input')?.valueStart ?? 0;
  const texts = body[input] === openBracket ? elementsOf(body, input) : [input];
  const dimensions = named('dimensions');
  const wanted = dimensions === undefined ? 'null' : textOf(body, dimensions);
  const head = Buffer.from(`{"model":${JSON.stringify(`models/${model}`)},"content":{"parts":[{"text":`);
  const end = Buffer.from(`}]}${wanted === 'null' ? '' : `,"outputDimensionality":${wanted}`}}`);
  const pieces: Buffer[] = [];
  for (const at of texts)
    pieces.push(pieces.length === 0 ? start : comma, head, body.subarray(at, textEnd(body, at) + 1), end);
  return Buffer.concat([...pieces, close]);
}

const start = Buffer.from('{"requests":[');
const comma = Buffer.from(',');
const close = Buffer.from(']}');

function textOf(body: Buffer, { valueStart, valueEnd }: Member): string {
  return body.toString('latin1', valueStart, valueEnd);
}

/** Shows embeddings of Google's API as those of OpenAI's; others stay as they are. */
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
    if (api !== 'gemini') return bytes;
    const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
    const list = members?.get('embeddings');
    const entries = list && (await elementRanges(bytes, list, { tenantId, max: maxInputs }));
    if (!entries) throw invalid();
    const pieces: Buffer[] = [];
    for (const [index, entry] of entries.entries()) {
      const values = (await memberRanges(bytes, entry, tenantId))?.get('values');
      if (values === undefined) throw invalid();
      const head = `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":`;
      pieces.push(Buffer.from(head), await this.#vector(bytes, values, tenantId), Buffer.from('}'));
    }
    const usage = members?.get('usageMetadata');
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
