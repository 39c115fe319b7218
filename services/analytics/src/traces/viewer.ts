import type { TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';

/** Whose runs a caller sees. */
export interface Viewer {
  tenantId: string;
  /** Only this user's; null for the whole tenant's. */
  user: string | null;
  /** Whose prompts and answers are shown: of everybody to admins, else of the user for whom the call is. */
  previewsOf: { everybody: boolean; user: string | null };
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
  const previewsOf = { everybody: role === 'admin', user: actingUser };
  return { tenantId, user: actingUser ?? filteredUser ?? null, previewsOf };
}
