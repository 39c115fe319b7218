import { AppError } from '@gatehouse/kit/errors';
import { type Fields, isFields } from '@gatehouse/kit/fields';
import { type TextSample, estimateTokens } from '../usage/token-estimate.ts';
import { RequestText, type Share } from '../wire/request-text.ts';
import { bedrockEmbedder, inputTypes, takesPurpose, type BedrockEmbedder } from '../bedrock-embedders.ts';
import type { AnsweringModel, AnswerView, RequestSource, Rewrite } from '../dialect.ts';
import { encoded, inEncoding } from './embedding-encoding.ts';
import { InputRequest } from './input-request.ts';
import { rewriteRequest } from './request-rewrite.ts';
import { openBracket, textEnd } from '@gatehouse/kit/json-bytes';
import { elementsOf, type Member } from '../wire/json-members.ts';
import { Pieces } from '../wire/pieces.ts';
import { readUsage } from '../usage/usage-reader.ts';
import { elementRanges, memberRanges, parsedPart, wholeOf, type Range } from '../wire/json-parts.ts';
import type { UpstreamApi } from '../upstream-api.ts';
import { maxHintChars, maxHints, maxInputs } from '../bounds.ts';

/** A request for embeddings, which models of Google's API and of Bedrock can answer, too. */
export class OpenAiEmbeddings extends InputRequest {
  /** For Google's API. */
  readonly isBatch = true;
  override readonly operation = 'embeddings';

  /** `fields`: the body, parsed. */
  constructor(body: Buffer, fields: Fields, model: string) {
    super(body, fields, { operation: 'embeddings', model, stream: false, wantsUsage: false, choices: 1 });
  }

  refusalIn({ api, upstreamModel }: AnsweringModel): AppError | null {
    const embedder = api === 'converse' ? bedrockEmbedder(upstreamModel) : null;
    if (api !== 'gemini' && embedder === null)
      return unsupported('model', `The model has no embeddings that are asked for in ${api}.`);
    const { input, encoding_format: format } = this.fields;
    const texts = Array.isArray(input) ? (input as unknown[]) : [input];
    if (!texts.every((text) => typeof text === 'string'))
      return unsupported('input', 'input must be a text, or a list of texts, for this model.');
    if (texts.length > maxInputs)
      return unsupported('input', `input must have at most ${maxInputs} texts for this model.`);
    if (!isOneOf(['float', 'base64'], format))
      return unsupported('encoding_format', 'encoding_format must be float or base64 for this model.');
    return embedder === null ? null : this.#refusalOf(embedder);
  }

  #refusalOf(embedder: BedrockEmbedder): AppError | null {
    const { dimensions } = embedder;
    const { dimensions: wanted, input_type: inputType } = this.fields;
    if (!isOneOf(dimensions, wanted))
      return unsupported('dimensions', `dimensions must be ${dimensions.join(', ')} for this model.`);
    if (takesPurpose(embedder) && !isOneOf(inputTypes, inputType))
      return unsupported('input_type', `input_type must be ${inputTypes.join(', ')} for this model.`);
    return null;
  }

  get viewWith(): () => AnswerView {
    const sample = this.promptSample();
    const isBase64 = this.fields['encoding_format'] === 'base64';
    return () => new EmbeddingsView(sample, isBase64);
  }

  override source(share: Share): RequestSource {
    return new EmbeddingsText(this.body, share, this.#hints);
  }

  /** Names of members with a place in OpenAI's API only, as far as a header can name them. */
  get #hints(): readonly string[] {
    const present = Object.entries(this.fields).filter(([, value]) => value !== null);
    const names = present
      .map(([name]) => name.slice(0, maxHintChars))
      .filter((name) => !translated.has(name));
    return names.slice(0, maxHints);
  }
}

class EmbeddingsText extends RequestText<Rewrite> {
  readonly #hints: readonly string[];

  constructor(body: Buffer, share: Share, hints: readonly string[]) {
    super(body, share, (text, rewrite, members) =>
      rewrite.api === 'gemini' ? asBatch(text, rewrite, members) : rewriteRequest(text, rewrite, members),
    );
    this.#hints = hints;
  }

  droppedFields({ api, upstreamModel }: AnsweringModel): readonly string[] {
    if (api === 'chat') return [];
    const takesType = takesPurpose(bedrockEmbedder(upstreamModel));
    return this.#hints.filter((name) => !(takesType && name === 'input_type'));
  }
}

const translated: ReadonlySet<string> = new Set(['model', 'input', 'dimensions', 'encoding_format']);

/** As for any field, null counts as absent. */
function isOneOf(values: readonly unknown[], value: unknown): boolean {
  return value === undefined || value === null || values.includes(value);
}

function unsupported(param: string, message: string): AppError {
  return new AppError('unsupported_parameter', message, { param });
}

/** OpenAI's embeddings with models of Google's API (https://ai.google.dev/api/embeddings): texts stay as they are written. */

/** The request for `batchEmbedContents` with the texts of a request. Its input is a text, or a list of texts. */
function asBatch(body: Buffer, { model }: Rewrite, members: readonly Member[]): Pieces {
  const named = (name: string): Member | undefined => members.find((member) => member.name === name);
  const input = named('input')?.valueStart ?? 0;
  const texts = body[input] === openBracket ? elementsOf(body, input) : [input];
  const dimensions = named('dimensions');
  const wanted = dimensions === undefined ? 'null' : textOf(body, dimensions);
  const head = Buffer.from(`{"model":${JSON.stringify(`models/${model}`)},"content":{"parts":[{"text":`);
  const end = Buffer.from(`}]}${wanted === 'null' ? '' : `,"outputDimensionality":${wanted}`}}`);
  const pieces: Buffer[] = [];
  for (const at of texts)
    pieces.push(pieces.length === 0 ? start : comma, head, body.subarray(at, textEnd(body, at) + 1), end);
  return new Pieces([...pieces, close]);
}

const start = Buffer.from('{"requests":[');
const comma = Buffer.from(',');
const close = Buffer.from(']}');

function textOf(body: Buffer, { valueStart, valueEnd }: Member): string {
  return body.toString('latin1', valueStart, valueEnd);
}

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

/** Shows embeddings of other APIs as those of OpenAI's, which stay as they are but for their encoding. */
class EmbeddingsView implements AnswerView {
  /** Texts of the request, for an answer without their number of tokens. */
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
    if (shape === undefined) return inEncoding(bytes, { isBase64: this.#isBase64, tenantId });
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
    const tokens = await this.#tokens(usage && (await parsedPart(bytes, usage, tenantId)), tenantId);
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
    const vector = await encoded(bytes, values, { isBase64: true, tenantId });
    if (vector === null) throw invalid();
    return vector;
  }

  async #tokens(usage: unknown, tenantId: string): Promise<number> {
    const reported = isFields(usage) ? readUsage(usage) : null;
    return reported?.inputTokens ?? estimateTokens(this.#sample, tenantId);
  }
}

function invalid(): AppError {
  return new AppError('provider_invalid_response', 'The provider returned no embeddings.');
}
