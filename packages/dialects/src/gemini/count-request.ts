import type { Fields } from '@gatehouse/kit/fields';
import { RequestText, type Share } from '../wire/request-text.ts';
import { applyChanges, type Edit } from '../wire/json-edits.ts';
import type { Member } from '../wire/json-members.ts';
import type { CompletionRequest, RequestInPath, RequestSource, Rewrite } from '../dialect.ts';
import { objectOf } from '../request-fields.ts';
import { checkFields, valueOf } from './fields.ts';
import { GeminiRequest } from './gemini-request.ts';
import { checkRequest } from './request.ts';
import { named, renameModel, rewriteRequest } from './request-rewrite.ts';
import { Pieces } from '../wire/pieces.ts';

const wholeName = 'generateContentRequest';

/** Reads a request for a count: contents alone, or a whole request for content in a member of its own. */
export function readCountRequest(body: Buffer, parsed: unknown, inPath: RequestInPath): CompletionRequest {
  const fields = objectOf(parsed);
  checkFields(fields, { [wholeName]: ['object'] });
  const whole = valueOf(fields, wholeName) as Fields | null | undefined;
  const counted = whole ?? fields;
  checkRequest(counted, inPath);
  return new GeminiCountRequest(body, counted, inPath);
}

/** `fields`: the request for content in the body. */
class GeminiCountRequest extends GeminiRequest {
  override source(share: Share): RequestSource {
    return new RequestText(this.body, share, rewriteCount);
  }
}

/**
 * Additions of an agent have a place in a whole request only, so contents alone become one. Translation reads the request for
 * content itself.
 */
function rewriteCount(body: Buffer, rewrite: Rewrite, members: readonly Member[]): Pieces {
  const wholes = named(members, wholeName).filter(
    ({ valueStart, valueEnd }) => body.toString('latin1', valueStart, valueEnd) !== 'null',
  );
  const last = wholes.at(-1);
  if (last === undefined) {
    const rewritten = rewriteRequest(body, rewrite, members);
    if (rewrite.isTranslated === true) return rewritten;
    return rewrite.systemPrompt === null && rewrite.tools === null
      ? rewritten
      : wrapped(rewritten.whole, named(members, 'model').length > 0 ? null : rewrite.model);
  }
  const text = rewriteRequest(body.subarray(last.valueStart, last.valueEnd), rewrite);
  if (rewrite.isTranslated === true) return text;
  const edits: Edit[] = [];
  for (const member of named(members, 'model')) renameModel(body, member, rewrite.model, edits);
  for (const { valueStart: at, valueEnd: until } of wholes) edits.push({ at, until, text: text.all });
  return applyChanges(body, members, { edits, added: [] });
}

/** A whole request names its model. */
function wrapped(request: Buffer, model: string | null): Pieces {
  const start = request.indexOf('{') + 1;
  const modelField = model === null ? '' : `"model":${JSON.stringify(`models/${model}`)},`;
  return new Pieces([
    Buffer.from(`{"${wholeName}":{${modelField}`),
    request.subarray(start),
    Buffer.from('}'),
  ]);
}
