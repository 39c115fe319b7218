import type { Answer } from '../answer-format.ts';
import { RefusedRequest } from '../errors.ts';
import type { Route, RouteContext } from '../route.ts';
import { boundTo } from '../rules/bound-thinking.ts';
import { isObject, type JsonObject } from '../values.ts';
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

/** A request at a cloud: its path has the model, and its body the version. */
interface HostedTarget {
  model: string;
  stream: boolean;
  version: string;
  /** Members that the body must not have. */
  refused: readonly string[];
}

/** The answer to a body whose model stands in the path. @throws RefusedRequest (400) for all that clouds refuse. */
export function answerHostedMessage(context: RouteContext, hosted: HostedTarget): Answer {
  const { version, refused, ...target } = hosted;
  const { body } = context.exchange.record;
  if (!isObject(body) || body['anthropic_version'] !== version)
    throw new RefusedRequest(`anthropic_version: Input should be '${version}'`);
  for (const name of refused)
    if (body[name] !== undefined) throw new RefusedRequest(`${name}: Extra inputs are not permitted`);
  const { anthropic_version: _version, anthropic_beta: _betas, ...fields } = body;
  return answerMessageTo({ ...fields, ...target }, context);
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
