import type { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderOf } from '../../catalogue/provider-schema.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import { applyChanges, removeMembers, type Changes } from '@gatehouse/dialects/wire/json-edits';
import { named, objectMembers } from '@gatehouse/dialects/wire/json-members';
import type { Credentials } from '../credentials.ts';
import type { ApiCall, CallFormat, FittedBody, FittedCall, ProviderKind } from '../provider-kind.ts';
import { hostedMessages } from './hosted-messages.ts';
import { vertexBetas } from './vertex-betas.ts';
import { withFittingIds } from './vertex-call-ids.ts';
import { vertexBatch } from './vertex-embeddings.ts';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';

const version = 'vertex-2023-10-16';

/**
 * Gemini and Claude in Google Cloud's Vertex AI
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference).
 */
export function vertex(
  { name, project, region }: Pick<ProviderOf<'vertex'>, 'name' | 'project' | 'region'>,
  credentials: Credentials,
): ProviderKind {
  const models = `/projects/${encodeURIComponent(project)}/locations/${region}/publishers`;
  return {
    credentials,
    requestOf: (call, body) => ({
      path: `${models}/${call.api === 'messages' ? claudePath(call) : geminiPath(call)}`,
      headers: {},
      body,
    }),
    fit: {
      hintsIn: 'messages',
      body: (call, body) =>
        call.api === 'messages'
          ? claudeBody(call, body.whole)
          : { body: geminiBody(call, body), dropped: [] },
    },
    answersOf: ({ api }) => ({ format: api === 'messages' ? claudeFormat : dialects.gemini }),
    batchOf: (call, body) => (call.operation === 'embeddings' ? vertexBatch(call, body.whole, name) : null),
  };
}

function claudePath({ model, operation, stream }: ApiCall): string {
  // Its body names the model.
  if (operation === 'count') return 'anthropic/models/count-tokens:rawPredict';
  return `anthropic/models/${inPath(model)}:${stream ? 'streamRawPredict' : 'rawPredict'}`;
}

function geminiPath(call: ApiCall): string {
  const method = call.operation === 'embeddings' ? 'predict' : dialects.gemini.methodOf(call);
  return `google/models/${inPath(call.model)}:${method}`;
}

/** Versions stand behind an `@`. */
function inPath(model: string): string {
  return encodeURIComponent(model).replaceAll('%40', '@');
}

function claudeBody(call: FittedCall, body: Buffer): FittedBody | AppError {
  const counts = call.operation === 'count';
  return hostedMessages(body, call, {
    ...{ version, betas: vertexBetas, withoutNames: counts ? [] : ['model'] },
    // See https://github.com/anthropics/claude-code/issues/11154.
    withoutBetas: counts,
  });
}

const wholeNames = ['generateContentRequest', 'generate_content_request'];

/** Counts have the request itself here, in place of one inside a member, and the model in the path alone. */
function geminiBody({ operation, rulesName }: FittedCall, request: Pieces): Pieces {
  if (operation !== 'count') return withFittingIds(request, rulesName);
  const body = request.whole;
  const members = objectMembers(body);
  const [member] = wholeNames.flatMap((name) => named(members, name)).slice(-1);
  const inner = member === undefined ? body : body.subarray(member.valueStart, member.valueEnd);
  return withFittingIds(withoutModel(inner), rulesName);
}

function withoutModel(body: Buffer): Pieces {
  const members = objectMembers(body);
  const changes: Changes = { edits: [], added: [] };
  removeMembers(members, new Set(['model']), changes.edits);
  return applyChanges(body, members, changes);
}

/** Errors of Claude are Anthropic's own; those of Google, before it is asked, have another shape. */
const claudeFormat: CallFormat = {
  ...dialects.messages,
  isError: ({ type }: Fields) => type === 'error',
  parseError: (body, status) =>
    body['type'] === 'error' ? dialects.messages.parseError(body) : dialects.gemini.parseError(body, status),
};
