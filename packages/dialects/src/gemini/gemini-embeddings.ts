import { cutText } from '@gatehouse/events/cut-text';
import type { Fields } from '@gatehouse/kit/fields';
import { openBracket } from '@gatehouse/kit/json-bytes';
import { SampleBuilder, type TextSample } from '../usage/token-estimate.ts';
import { applyChanges, type Edit } from '../wire/json-edits.ts';
import { elementsOf, type Member } from '../wire/json-members.ts';
import { RequestText, type Share } from '../wire/request-text.ts';
import type {
  RequestedAmounts,
  CompletionRequest,
  RequestInPath,
  RequestSource,
  Rewrite,
} from '../dialect.ts';
import { noThinking, type Thinking } from '../thinking.ts';
import { attachmentsIn, partsOf, partsText, spokenText } from './content.ts';
import { objectIn, objectsIn } from './fields.ts';
import { membersAt, named, renameModel } from './request-rewrite.ts';
import type { Pieces } from '../wire/pieces.ts';

/** A request for the vectors of one content or of several, whose types have been checked. */
export class GeminiEmbeddings implements CompletionRequest {
  readonly operation = 'embeddings';
  readonly model: string;
  readonly isBatch: boolean;
  readonly stream = false;
  readonly wantsUsage = false;
  readonly choices = 1;
  readonly session = null;
  readonly toolNames = [];
  readonly callIds = [];
  readonly firstTexts = [];
  readonly #body: Buffer;
  readonly #contents: readonly Fields[];

  /** `fields`: the body, parsed. */
  constructor(body: Buffer, fields: Fields, { model, isBatch = false }: RequestInPath) {
    this.model = model;
    this.isBatch = isBatch;
    this.#body = body;
    const requests = isBatch ? objectsIn(fields, 'requests') : [fields];
    this.#contents = requests.map((request) => objectIn(request, 'content'));
  }

  get bytes(): number {
    return this.#body.length;
  }

  inputPreview(maxChars: number): string {
    const texts: string[] = [];
    let chars = 0;
    for (const content of this.#contents) {
      if (chars > maxChars) break;
      const text = spokenText(partsOf(content), '\n');
      if (text === '') continue;
      texts.push(text);
      chars += text.length;
    }
    return cutText(texts.join('\n'), maxChars);
  }

  /** It is no conversation. */
  lastUserText(): null {
    return null;
  }

  promptSample(): TextSample {
    const sample = new SampleBuilder();
    for (const content of this.#contents) sample.add(partsText(partsOf(content)));
    return sample.built;
  }

  choicesWith(): number {
    return 1;
  }

  thinking(): Thinking {
    return noThinking;
  }

  requestedAmounts(): RequestedAmounts {
    const { count, bytes, hasAudio } = attachmentsIn(this.#contents.flatMap(partsOf));
    return {
      ...{ choices: 1, maxTokens: null, serviceTier: null },
      classes: hasAudio ? ['inputAudio'] : [],
      attachments: { count, bytes },
    };
  }

  source(share: Share): RequestSource {
    return new RequestText(this.#body, share, rewriteEmbeddings);
  }
}

/** Renames the model, which stands in the path, in each request of a batch, too. */
export function rewriteEmbeddings(body: Buffer, { model }: Rewrite, members: readonly Member[]): Pieces {
  const edits: Edit[] = [];
  for (const member of named(members, 'model')) renameModel(body, member, model, edits);
  for (const { valueStart } of named(members, 'requests')) {
    const starts = body[valueStart] === openBracket ? elementsOf(body, valueStart) : [valueStart];
    for (const at of starts)
      for (const member of named(membersAt(body, at), 'model')) renameModel(body, member, model, edits);
  }
  return applyChanges(body, members, { edits, added: [] });
}
