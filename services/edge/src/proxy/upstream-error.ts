import type { ServiceName } from '@gatehouse/contract/routes';
import { AppError } from '@gatehouse/kit/errors';

/** A replica that is there takes a connection in a millisecond; one lost packet is sent again after a second. */
export const connectTimeoutMs = 1_500;

/**
 * An idle connection is closed after this time: before a replica that drains closes it, which could be just as the next
 * request is written to it.
 */
export const idleMs = 4_000;

/** Errors of a connection that was never made, so that nothing was sent: refused, no way there, or no answer. */
export function wasRefused(error: unknown): boolean {
  const { code, syscall, errors } = (error ?? {}) as NodeJS.ErrnoException & Partial<AggregateError>;
  // A name with several addresses was tried at each, and fails with one error for each.
  if (Array.isArray(errors)) return errors.every(wasRefused);
  return syscall === 'connect' || syscall === 'getaddrinfo' || code === 'UND_ERR_CONNECT_TIMEOUT';
}

/** What the client is told when a service can't be reached or drops its request. */
export function upstreamError(service: ServiceName, error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (wasRefused(error)) return unreachable(service, error);
  return new AppError(
    'bad_gateway',
    `The connection to the ${service} service broke off. Whether the request took effect is unknown.`,
    {
      cause: error,
    },
  );
}

export function unreachable(service: ServiceName, cause?: unknown): AppError {
  return new AppError(
    'service_unavailable',
    `The ${service} service can not be reached. Try again shortly.`,
    {
      cause,
      headers: { 'retry-after': '1' },
    },
  );
}

/** A service that refuses the edge's own assertion is misconfigured; the client's key is not at fault. */
export function rejectedAssertion(service: ServiceName): AppError {
  return new AppError('bad_gateway', `The ${service} service refused the edge.`);
}
