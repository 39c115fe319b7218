import { cutText } from '@gatehouse/events/cut-text';
import type { Fields } from '@gatehouse/kit/fields';
import { openBracket } from '@gatehouse/kit/json-bytes';
import { applyChanges, type Edit } from '../wire/json-edits.ts';
import { elementsOf, type Member } from '../wire/json-members.ts';
import { RequestText, type Share } from '../wire/request-text.ts';
import type { RequestedAmounts, RequestInPath, RequestSource, Rewrite } from '../dialect.ts';
import type { MessageAttachments } from '../prompt-parts.ts';
import { ReadRequest } from '../read-request.ts';
import { noThinking, type Thinking } from '../request-fields.ts';
import { attachmentsIn, partsOf, partsText, spokenText } from './content.ts';
import { objectIn, objectsIn } from './fields.ts';
import { membersAt, named } from './history-rewrite.ts';
import { renameModel } from './request-rewrite.ts';
import type { Pieces } from '../wire/pieces.ts';

/** A request for the vectors of one content or of several, with checked types. */
export class GeminiEmbeddings extends ReadRequest {
  override readonly operation = 'embeddings';
  readonly isBatch: boolean;
  readonly toolNames = [];
  readonly callIds = [];
  protected override readonly listName = 'requests';
  protected override readonly headNames = [];
  protected override readonly system = [];
  protected override readonly messages: readonly Fields[];
  protected override readonly tools = [];

  /** `fields`: the body, parsed. */
  constructor(body: Buffer, fields: Fields, { model, isBatch = false }: RequestInPath) {
    super(body, fields, { model, stream: false });
    this.isBatch = isBatch;
    const requests = isBatch ? objectsIn(fields, 'requests') : [fields];
    this.messages = requests.map((request) => objectIn(request, 'content'));
  }

  override inputPreview(maxChars: number): string {
    const texts: string[] = [];
    let chars = 0;
    for (const content of this.messages) {
      if (chars > maxChars) break;
      const text = this.spokenText(content);
      if (text === '') continue;
      texts.push(text);
      chars += text.length;
    }
    return cutText(texts.join('\n'), maxChars);
  }

  thinking(): Thinking {
    return noThinking;
  }

  requestedAmounts(): RequestedAmounts {
    const { count, bytes, hasAudio } = attachmentsIn(this.messages.flatMap(partsOf));
    return {
      ...{ choices: 1, maxTokens: null, serviceTier: null },
      classes: hasAudio ? ['inputAudio'] : [],
      attachments: { count, bytes },
    };
  }

  source(share: Share): RequestSource {
    return new RequestText(this.body, share, rewriteEmbeddings);
  }

  protected override attachmentsOf(content: Fields): MessageAttachments {
    return attachmentsIn(partsOf(content));
  }

  /** It is no conversation. */
  protected override isOfUser(): boolean {
    return false;
  }

  protected override textOf(content: Fields): string {
    return partsText(partsOf(content));
  }

  protected override spokenText(content: Fields): string {
    return spokenText(partsOf(content), '\n');
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
