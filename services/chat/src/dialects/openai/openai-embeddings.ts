import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { RequestText } from '../../wire/request-text.ts';
import type { AnswerView, RequestSource, Share, UpstreamApi } from '../dialect.ts';
import { asBatch, EmbeddingsView, maxInputs } from './google-embeddings.ts';
import { OpenAiRequest } from './openai-request.ts';
import { rewriteRequest } from './request-rewrite.ts';

/** A request for embeddings, which models of Google's API can answer, too. */
export class OpenAiEmbeddings extends OpenAiRequest {
  /** For Google's API. */
  readonly isBatch = true;
  readonly #body: Buffer;
  readonly #fields: Fields;

  /** `fields`: the body, parsed. */
  constructor(body: Buffer, fields: Fields, model: string) {
    super(body, fields, { operation: 'embeddings', model, stream: false, wantsUsage: false, choices: 1 });
    this.#body = body;
    this.#fields = fields;
  }

  refusalIn(api: UpstreamApi): AppError | null {
    if (api !== 'gemini') return unsupported('model', `Models that are asked in ${api} have no embeddings.`);
    const { input, encoding_format: format } = this.#fields;
    const texts = Array.isArray(input) ? (input as unknown[]) : [input];
    if (!texts.every((text) => typeof text === 'string'))
      return unsupported('input', 'input must be a text, or a list of texts, for this model.');
    if (texts.length > maxInputs)
      return unsupported('input', `input must have at most ${maxInputs} texts for this model.`);
    if (!['float', 'base64', undefined, null].includes(format as string | null | undefined))
      return unsupported('encoding_format', 'encoding_format must be float or base64 for this model.');
    return null;
  }

  viewWith(): AnswerView {
    return new EmbeddingsView(this.promptSample(), this.#fields['encoding_format'] === 'base64');
  }

  override source(share: Share): RequestSource {
    return new RequestText(this.#body, share, (body, rewrite, members) =>
      rewrite.api === 'gemini' ? asBatch(body, rewrite, members) : rewriteRequest(body, rewrite, members),
    );
  }
}

function unsupported(param: string, message: string): AppError {
  return new AppError('unsupported_parameter', message, { param });
}
