import { answerHostedMessage } from '../messages/messages-routes.ts';
import type { Route } from '../route.ts';

/**
 * Claude in Google Cloud's Vertex AI, whose body is that of Anthropic's API with the version in it:
 * https://platform.claude.com/docs/en/api/claude-on-vertex-ai. Gemini has the paths of its own API behind a publisher.
 */

const claudePath = /\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/;
const version = 'vertex-2023-10-16';

/** The route of a path such as `/v1/projects/p/locations/l/publishers/anthropic/models/any:rawPredict`; undefined for others. */
export function vertexRoute(method: string, path: string): Route | undefined {
  const model = vertexModel(path);
  if (method !== 'POST' || model === null) return undefined;
  const stream = path.endsWith(':streamRawPredict');
  return (context) => answerHostedMessage(context, { model, stream, version, refused: ['model'] });
}

/** The model that a path of Claude at Vertex AI names; null for other paths. */
export function vertexModel(path: string): string | null {
  const [, model] = claudePath.exec(path) ?? [];
  return model === undefined ? null : decodeURIComponent(model);
}
