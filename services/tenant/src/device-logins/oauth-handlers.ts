import type { OAuthErrorCode } from '@gatehouse/contract/oauth';
import type { IncomingMessage } from 'node:http';
import type { RawHandler } from '@gatehouse/http/app';
import { isForm, isJson, parseJson, readBody } from '@gatehouse/http/body';
import { sendJson } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { AppError, toAppError } from '@gatehouse/kit/errors';
import { logFailure, type Logger } from '@gatehouse/kit/log';
import { queryObject, validate } from '@gatehouse/kit/validate';
import type { z } from 'zod';
import { fromOf } from '../sessions/browser-session-handlers.ts';
import type { From } from '../sessions/session.ts';

/** An error in the shape of OAuth, with the status 400 (RFC 6749 §5.2, RFC 8628 §3.5). */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode;

  constructor(code: OAuthErrorCode, description: string) {
    super(description);
    this.code = code;
  }
}

/** Serves requests of OAuth: a form or JSON of `shape` to JSON. Errors have its shape too. */
export function oauthHandler<Shape extends z.ZodType>(
  shape: Shape,
  log: Logger,
  answer: (fields: z.output<Shape>, from: From) => Promise<object>,
): RawHandler {
  return async (request, response, call) => {
    const headers = { [requestIdHeader]: call.requestId };
    try {
      const fields = validate(shape, await fieldsOf(request, call.route.bodyLimit), 'body');
      sendJson(response, 200, await answer(fields, fromOf(request, call)), headers);
    } catch (caught) {
      const { status, code, description, more } = oauthErrorOf(caught);
      if (status >= 500)
        logFailure(log, { request_id: call.requestId, trace_id: call.trace.traceId }, caught);
      if (response.destroyed) return;
      sendJson(response, status, { error: code, error_description: description }, { ...more, ...headers });
    }
  };
}

async function fieldsOf(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const type = request.headers['content-type'];
  if (isForm(type)) return queryObject((await readBody(request, maxBytes)).toString());
  if (isJson(type)) return parseJson(await readBody(request, maxBytes));
  throw new AppError('unsupported_media_type', 'The request body must be a form or JSON.');
}

interface WrittenError {
  status: number;
  code: OAuthErrorCode;
  description: string;
  /** Further headers. */
  more: Record<string, string>;
}

function oauthErrorOf(caught: unknown): WrittenError {
  if (caught instanceof OAuthError)
    return { status: 400, code: caught.code, description: describing(caught.message), more: {} };
  const { status, message, headers } = toAppError(caught);
  const [code, sent] = codeOf(status);
  return { status: sent, code, description: describing(message), more: headers };
}

function codeOf(status: number): [code: OAuthErrorCode, status: number] {
  if (status === 429) return ['slow_down', status];
  if (status === 403) return ['access_denied', 400];
  if (status === 413 || status === 415) return ['invalid_request', status];
  if (status < 500) return ['invalid_request', 400];
  return status === 500 ? ['server_error', status] : ['temporarily_unavailable', 503];
}

/** Keeps the characters allowed by RFC 6749 §5.2. */
function describing(text: string): string {
  return text.replaceAll('"', "'").replaceAll(/[^\x20-\x7e]|\\/g, '?');
}
