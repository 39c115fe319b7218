import type { IncomingMessage } from 'node:http';
import { tenantOf, type RawCall } from '@gatehouse/http/app';
import type { ApiName } from '@gatehouse/dialects/dialects';
import { clientNamed } from '@gatehouse/kit/client-name';
import { sessionOf } from './client-headers.ts';
import type { RequestBody } from './named-request-handlers.ts';
import type { RefusedOrigin, RequestedFacts } from './refusals.ts';

/** A parser that also notes the model that a request asks for. */
export function notingModel(facts: RequestedFacts, parse: RequestBody['parse']): RequestBody['parse'] {
  return (text, parsed) => {
    const request = parse(text, parsed);
    facts.model = request.model;
    return request;
  };
}

/** The origin of a client's request. */
export function originOf(
  incoming: IncomingMessage,
  call: Pick<RawCall, 'principal' | 'requestId' | 'trace'> & { dialect: { name: ApiName } },
): RefusedOrigin {
  const { tenantId, keyId, userId } = tenantOf(call);
  return {
    tenant_id: tenantId,
    channel: 'api',
    dialect: call.dialect.name,
    client: clientNamed(incoming.headers['user-agent']),
    user_id: userId,
    api_key_id: keyId,
    request_id: call.requestId,
    trace_id: call.trace.traceId,
    session_id: sessionIn(incoming),
  };
}

/** The session that a header names; null for one that is not valid, which may be why the request was refused. */
function sessionIn(incoming: IncomingMessage): string | null {
  try {
    return sessionOf(incoming);
  } catch {
    return null;
  }
}
