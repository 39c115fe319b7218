import type { Answer } from '../answer-format.ts';
import type { Route, RouteContext } from '../route.ts';
import { boundTo } from '../rules/bound-thinking.ts';
import type { JsonObject } from '../values.ts';
import { checkConversation } from './conversation-checks.ts';
import { countTokens, inputSegments } from './input-segments.ts';
import { answerMessages } from './messages-answer.ts';
import { readMessagesRequest } from './messages-request.ts';
import { messageBody, messageFrames } from './messages-wire.ts';
import { checkVersion, readBody } from './request-body.ts';
import { checkParameters } from './request-checks.ts';

/** Anthropic's Messages API: https://platform.claude.com/docs/en/api/messages. */
export const messagesRoutes: Record<string, Route> = {
  'POST /v1/messages': answerMessage,
  'POST /v1/messages/count_tokens': countInputTokens,
};

function answerMessage(context: RouteContext): Answer {
  return answerMessageTo(versionedBody(context), context);
}

/** The answer to a body. @throws RefusedRequest (400) for all that Anthropic refuses. */
export function answerMessageTo(body: JsonObject, context: RouteContext): Answer {
  const { fault, signer } = context;
  checkConversation(body, signer);
  const answer = answerMessages(readMessagesRequest(body), fault, { ...context, boundTo: boundTo(body) });
  return {
    id: answer.id,
    usage: answer.charged,
    streamed: body['stream'] === true,
    frames: () => messageFrames(answer, fault),
    whole: () => messageBody(answer, fault),
  };
}

/** Counts without charge. */
function countInputTokens(context: RouteContext): Answer {
  const tokens = countTokens(inputSegments(checkedBody(context)));
  const whole = (): string => JSON.stringify({ input_tokens: tokens });
  return { id: null, usage: null, streamed: false, frames: null, whole };
}

/** @throws RefusedRequest (400) for all that Anthropic refuses, apart from `max_tokens`, which only messages need. */
function checkedBody(context: RouteContext): JsonObject {
  const body = versionedBody(context);
  checkConversation(body, context.signer);
  return body;
}

function versionedBody({ exchange }: RouteContext): JsonObject {
  const version = exchange.record.headers['anthropic-version'];
  checkVersion(version);
  const body = readBody(exchange.record.body);
  checkParameters(body, version);
  return body;
}
