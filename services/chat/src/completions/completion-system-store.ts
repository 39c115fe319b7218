import type { OldRows } from '@gatehouse/pg/clean-up-store';

export const expiredCompletions: OldRows = {
  ...{ table: 'chat.completions', where: 'expires_at <= now()', order: 'expires_at', key: 'claim_id' },
};
