import type { RpcContext } from '@gatehouse/grpc/server';
import { isTenantPrincipal, type TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';

/** For whom the call is made; every call of this service is made for somebody in a tenant. */
export function tenantOf({ principal }: RpcContext): TenantPrincipal {
  if (principal !== null && isTenantPrincipal(principal)) return principal;
  throw new AppError('service_unauthenticated', 'The call names no tenant.');
}

export function epochSeconds(time: Date): bigint {
  return BigInt(Math.floor(time.getTime() / 1_000));
}
