import type { PlainAuth } from '@gatehouse/contract/plain-auth';
import { isParsable, parsedPart, wholeOf } from '@gatehouse/dialects/wire/json-parts';
import type { Egress } from '@gatehouse/egress/egress';
import { EgressError } from '@gatehouse/egress/errors';
import { objectBytes } from '../../bounds.ts';
import { OutsideFailure } from './outside-check.ts';

export interface ServerCall {
  tenantId: string;
  /** As the guardrail has it. */
  url: string;
  /** Added to the path of `url` unless it ends so. */
  path: string;
  auth: PlainAuth;
  body: unknown;
  signal: AbortSignal;
}

export type ServerEgress = Pick<Egress, 'request'>;

/**
 * Posts JSON to a server of a guardrail and returns its parsed answer. Throws `OutsideFailure`, and the reason of
 * `signal`. Redirects are failures: the texts go to the named host alone.
 */
export async function askServer(egress: ServerEgress, call: ServerCall): Promise<unknown> {
  const { tenantId, signal } = call;
  const body = Buffer.from(JSON.stringify(call.body));
  if (body.length > objectBytes) throw new OutsideFailure('too_large');
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...authHeaders(call.auth),
  };
  const url = withPath(call);
  const { status, body: answer } = await egress
    .request({ tenantId, method: 'POST', url, headers, body, signal, maxBytes: objectBytes })
    .catch((error: unknown) => {
      signal.throwIfAborted();
      throw failureOf(error);
    });
  if (status < 200 || status > 299) throw new OutsideFailure('failed');
  const whole = wholeOf(answer);
  const parsed = (await isParsable(answer, whole, tenantId))
    ? await parsedPart(answer, whole, tenantId)
    : undefined;
  if (parsed === undefined) throw new OutsideFailure('malformed');
  return parsed;
}

function withPath({ url: text, path }: ServerCall): URL {
  const url = URL.parse(text);
  if (url === null) throw new OutsideFailure('failed');
  const base = url.pathname.replace(/\/+$/, '');
  if (!base.endsWith(path)) url.pathname = base + path;
  return url;
}

function authHeaders(auth: PlainAuth): Record<string, string> {
  switch (auth.type) {
    case 'none':
      return {};
    case 'bearer':
      return { authorization: `Bearer ${auth.token}` };
    case 'headers':
      return Object.fromEntries(
        Object.entries(auth.headers).map(([name, value]) => [name.toLowerCase(), value]),
      );
  }
}

function failureOf(error: unknown): unknown {
  if (!(error instanceof EgressError)) return error;
  if (error.failure === 'too_large') return new OutsideFailure('too_large', { cause: error });
  if (error.failure === 'timeout') return new OutsideFailure('late', { cause: error });
  return new OutsideFailure('failed', { cause: error });
}
