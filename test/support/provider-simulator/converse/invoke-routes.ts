import type { Answer } from '../answer-format.ts';
import { answerHostedMessage } from '../messages/messages-routes.ts';
import type { Route, RouteContext } from '../route.ts';
import { eventStream } from './event-frame.ts';

/**
 * InvokeModel of Amazon Bedrock with Claude, whose body is that of Anthropic's API with the version in it:
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html.
 */

const methodPath = /^\/model\/([^/]+)\/invoke(-with-response-stream)?$/;
const version = 'bedrock-2023-05-31';

/** The route of a path such as `/model/any/invoke`; undefined for others. */
export function invokeRoute(method: string, path: string): Route | undefined {
  const [, model, streamed] = methodPath.exec(path) ?? [];
  if (method !== 'POST' || model === undefined) return undefined;
  const target = { model: decodeURIComponent(model), stream: streamed !== undefined };
  return (context) => answerInvocation(context, target);
}

/** The model that a path of this API names; null for other paths. */
export function invokedModel(path: string): string | null {
  const [, model] = methodPath.exec(path) ?? [];
  return model === undefined ? null : decodeURIComponent(model);
}

function answerInvocation(context: RouteContext, target: { model: string; stream: boolean }): Answer {
  const answer = answerHostedMessage(context, { ...target, version, refused: ['model', 'stream'] });
  const { frames } = answer;
  if (frames === null) return answer;
  return {
    ...answer,
    framing: eventStream,
    frames: () =>
      frames().map((frame) => ({
        ...frame,
        event: 'chunk',
        data: JSON.stringify({ bytes: Buffer.from(frame.data).toString('base64') }),
      })),
  };
}
