import type { TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';

/** Whose runs a caller sees. */
export interface Viewer {
  tenantId: string;
  /** Only this user's; null for the whole tenant's. */
  user: string | null;
  /** Sees the previews of everybody's prompts and answers; others see those of the user they act for. */
  seesPreviews: boolean;
}

/**
 * A key bound to a user, or a call for one, is about that user. Throws `user_mismatch` when the filter names another.
 */
export function viewerOf(principal: TenantPrincipal, filteredUser: string | undefined): Viewer {
  const { tenantId, role, actingUser } = principal;
  if (actingUser !== null && filteredUser !== undefined && filteredUser !== actingUser)
    throw new AppError('user_mismatch', 'The call is for another user than the one asked about.', {
      param: 'user_id',
    });
  return { tenantId, user: actingUser ?? filteredUser ?? null, seesPreviews: role === 'admin' };
}
