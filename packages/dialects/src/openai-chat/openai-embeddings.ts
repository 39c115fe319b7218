import { cutText } from '@gatehouse/events/cut-text';
import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { SampleBuilder, type TextSample } from '../usage/token-estimate.ts';
import { RequestText, type Share } from '../wire/request-text.ts';
import { bedrockEmbedder, inputTypes, takesPurpose, type BedrockEmbedder } from '../bedrock-embedders.ts';
import type { AnsweringModel, AnswerView, RequestSource, Rewrite } from '../dialect.ts';
import { EmbeddingsView, maxInputs } from './embeddings-view.ts';
import { asBatch } from './google-embeddings.ts';
import { tokensIn } from './message-text.ts';
import { OpenAiRequest, plainText } from './openai-request.ts';
import { rewriteRequest } from './request-rewrite.ts';

/** A request for embeddings, which models of Google's API and of Bedrock can answer, too. */
export class OpenAiEmbeddings extends OpenAiRequest {
  /** For Google's API. */
  readonly isBatch = true;
  override readonly operation = 'embeddings';

  /** `fields`: the body, parsed. */
  constructor(body: Buffer, fields: Fields, model: string) {
    super(body, fields, { operation: 'embeddings', model, stream: false, wantsUsage: false, choices: 1 });
  }

  override inputPreview(maxChars: number): string {
    return cutText(plainText(this.fields['input']), maxChars);
  }

  override promptSample(added: readonly (string | TextSample)[] = []): TextSample {
    const sample = new SampleBuilder();
    sample.addSample(super.promptSample([...added, plainText(this.fields['input'])]));
    sample.addTokens(tokensIn(this.fields['input']));
    return sample.built;
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
    const text = new RequestText<Rewrite>(this.body, share, (body, rewrite, members) =>
      rewrite.api === 'gemini' ? asBatch(body, rewrite, members) : rewriteRequest(body, rewrite, members),
    );
    const hints = this.#hints;
    return {
      get bytes(): number {
        return text.bytes;
      },
      rewritten: (rewrite) => text.rewritten(rewrite),
      copied: (bytes) => {
        text.copied(bytes);
      },
      release: () => {
        text.release();
      },
      droppedFields: ({ api, upstreamModel }) => {
        if (api === 'chat') return [];
        const takesType = takesPurpose(bedrockEmbedder(upstreamModel));
        return hints.filter((name) => !(takesType && name === 'input_type'));
      },
    };
  }

  /** Names of members that only OpenAI's API has a place for, as far as a header can name them. */
  get #hints(): readonly string[] {
    const present = Object.entries(this.fields).filter(([, value]) => value !== null);
    const names = present
      .map(([name]) => name.slice(0, maxNameChars))
      .filter((name) => !translated.has(name));
    return names.slice(0, maxHints);
  }
}

const translated: ReadonlySet<string> = new Set(['model', 'input', 'dimensions', 'encoding_format']);
const maxHints = 64;
const maxNameChars = 100;

/** As for any field, null is like none. */
function isOneOf(values: readonly unknown[], value: unknown): boolean {
  return value === undefined || value === null || values.includes(value);
}

function unsupported(param: string, message: string): AppError {
  return new AppError('unsupported_parameter', message, { param });
}
