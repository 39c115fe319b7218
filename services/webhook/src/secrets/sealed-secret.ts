import type { SecretPlace } from './webhook-secrets.ts';

/** The columns with secrets, of each table. */
export const columnsOf = {
  endpoints: ['secret', 'previous_secret', 'callback_secret', 'previous_callback_secret'],
  subscriptions: ['secret', 'previous_secret'],
  channel_instances: ['credentials', 'previous_credentials', 'access_token', 'refresh_token'],
} as const;

/** An encrypted secret of any tenant. */
export interface SealedSecret {
  tenantId: string;
  table: SecretPlace['table'];
  column: (typeof columnsOf)[SecretPlace['table']][number];
  id: string;
  sealed: Buffer;
}
