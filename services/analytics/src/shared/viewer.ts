import type { TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';

/** The runs and texts a caller may see. */
export interface Viewer {
  tenantId: string;
  /** Restricts the runs to this user; null for all runs of the tenant. */
  user: string | null;
  /** Admins see the previews and the private agents of all users; other callers see those of the acting user. */
  previewsOf: { all: boolean; user: string | null };
}

/** A request with an acting user sees only runs of this user. Throws `user_mismatch` when the filter names another. */
export function viewerOf(principal: TenantPrincipal, filteredUser: string | undefined): Viewer {
  const { tenantId, role, userId } = principal;
  if (userId !== null && filteredUser !== undefined && filteredUser !== userId)
    throw new AppError(
      'user_mismatch',
      'user_id names another user than the one that the request acts for.',
      {
        param: 'user_id',
      },
    );
  const previewsOf = { all: role === 'admin', user: userId };
  return { tenantId, user: userId ?? filteredUser ?? null, previewsOf };
}
