import type { IncomingMessage } from 'node:http';
import type { DialectName } from '@gatehouse/contract/dialects';
import type { Access, Route } from '@gatehouse/contract/routes';
import { grants, type Scope } from '@gatehouse/contract/scopes';
import type { Assertion, LocalAssertion } from '@gatehouse/identity/local-assertion';
import { anonymous, type Principal } from '@gatehouse/identity/principal';
import { assertionHeader, type Verifier } from '@gatehouse/identity/verifier';
import { AppError } from '@gatehouse/kit/errors';
import type { RequestContext } from './request-context.ts';

/** Principal of a request, and the edge's assertion of it. */
export interface Identity {
  principal: Principal;
  assertion: Assertion;
}

/**
 * Returns the principal of the request after checking it against the access rule of the route again, so a service does
 * not rely on the check of the edge alone; for a request without a key, `anonymous`. Throws `service_unauthenticated`
 * without a valid assertion, as for a request bypassing the edge.
 */
export async function checkPrincipal(
  request: IncomingMessage,
  route: Route,
  verifier: Verifier,
): Promise<Identity> {
  const assertion = request.headers[assertionHeader];
  if (assertion === undefined || Array.isArray(assertion)) throw unauthenticated();
  if (route.access.kind === 'signed') {
    const routeId = await verifier.anonymousRouteOf(assertion).catch((error: unknown) => {
      throw unauthenticated(error);
    });
    if (routeId !== route.id) throw unauthenticated();
    return { principal: anonymous, assertion };
  }
  if (route.access.kind === 'ticket') {
    const routeId = await verifier.anonymousRouteOf(assertion).catch(() => null);
    if (routeId === route.id) return { principal: anonymous, assertion };
    if (route.access.scope === undefined) throw unauthenticated();
  }
  const principal = await verifier.principalOf(assertion).catch((error: unknown) => {
    throw unauthenticated(error);
  });
  checkAccess(principal, route.access);
  return { principal, assertion };
}

function unauthenticated(cause?: unknown): AppError {
  return new AppError('service_unauthenticated', 'This service accepts requests from the gateway only.', {
    cause,
  });
}

/** Throws 403 with the missing role or scope, and 401 for a key where a session is required. */
export function checkAccess(
  principal: Pick<Principal, 'role' | 'scopes' | 'sessionId' | 'boundUser' | 'isConfirmed'>,
  access: Access,
): void {
  switch (access.kind) {
    case 'public':
    case 'signed':
      return;
    case 'key':
      if (access.ofTenant === true && principal.role === 'owner') throw keyOfTenantNeeded();
      if (access.notConfirmed === true && principal.isConfirmed === true)
        throw new AppError(
          'role_missing',
          'This endpoint is not for own keys and keys of programs: use a session, or the key that they were made with.',
        );
      return;
    case 'session':
      if (principal.sessionId === undefined)
        throw new AppError('invalid_session', 'There is no session: log in first.');
      return;
    case 'ticket':
      checkScope(principal, access.scope);
      return;
    case 'admin':
      if (principal.role !== 'admin') checkSelf(principal, access.orSelf);
      return;
    case 'owner':
      if (principal.role !== 'owner')
        throw new AppError('role_missing', 'This endpoint is for owner keys only.');
      return;
    case 'scope':
      checkScope(principal, access.scope);
      checkScope(principal, access.also);
  }
}

/** The error for a key of an owner where one of a tenant is needed. */
export function keyOfTenantNeeded(): AppError {
  return new AppError('role_missing', 'This endpoint requires a key of a tenant.');
}

/** Throws unless the principal is the session of a user, with the scopes to act for themselves. */
function checkSelf(
  { scopes, sessionId, boundUser }: Pick<Principal, 'scopes' | 'sessionId' | 'boundUser'>,
  needed: readonly Scope[] | undefined,
): void {
  if (needed === undefined || sessionId === undefined || boundUser === null)
    throw new AppError(
      'role_missing',
      needed === undefined
        ? 'This endpoint is for admin keys of a tenant only.'
        : 'This endpoint is for admin keys of a tenant, and for the session of the user.',
    );
  for (const scope of needed) checkScope({ scopes }, scope);
}

function checkScope({ scopes }: Pick<Principal, 'scopes'>, scope: Scope | undefined): void {
  if (scope !== undefined && !grants(scopes, scope))
    throw new AppError('scope_missing', `The API key lacks the scope ${scope}.`);
}

/** A request as the edge hands it over to a service of its process. */
export interface Exchange extends RequestContext {
  dialect: DialectName;
  route: Route;
  params: Record<string, string>;
  assertion: LocalAssertion;
}

/** A member of requests: a `WeakMap` would hold its values until the whole heap is collected. */
const exchangeKey = Symbol('exchange');
type LocalRequest = IncomingMessage & { [exchangeKey]?: Exchange };

/** Hands a request over to a service of this process, which reads nothing of it again. No header can do so. */
export function handOver(request: LocalRequest, exchange: Exchange): void {
  request[exchangeKey] = exchange;
}

/** The exchange of a request handed over by the edge of this process; undefined for one over a connection. */
export function handedOver(request: LocalRequest): Exchange | undefined {
  return request[exchangeKey];
}

/** As {@link checkPrincipal}, for a request handed over. */
export function checkExchange({ route, assertion }: Exchange): Identity {
  const { access } = route;
  const { statement } = assertion;
  if ('principal' in statement) {
    const isAnonymous = access.kind === 'signed' || (access.kind === 'ticket' && access.scope === undefined);
    if (isAnonymous) throw unauthenticated();
    checkAccess(statement.principal, access);
    return { principal: statement.principal, assertion };
  }
  const isOpen = access.kind === 'signed' || access.kind === 'ticket';
  if (!isOpen || statement.anonymousRoute !== route.id) throw unauthenticated();
  return { principal: anonymous, assertion };
}
