import type { SealedColumn } from '@gatehouse/secrets/store/sealed-value-system-store';
import { contextOfCall } from './calls/call-texts.ts';
import { contextOfText } from './conversations/channel-texts.ts';
import { contextOfSecret, type SecretPlace } from './secrets/webhook-secrets.ts';
import type { Ref } from './shared/ref.ts';

/** Columns with secrets. A rotated-out secret uses its successor's encryption context. */
const placesOf = {
  endpoints: {
    ...{ secret: 'secret', previous_secret: 'secret' },
    ...{ callback_secret: 'callback_secret', previous_callback_secret: 'callback_secret' },
  },
  subscriptions: { secret: 'secret', previous_secret: 'secret' },
  channel_instances: {
    ...{ credentials: 'credentials', previous_credentials: 'credentials' },
    ...{ access_token: 'access_token', refresh_token: 'refresh_token' },
  },
} as const satisfies Record<SecretPlace['table'], Record<string, SecretPlace['column']>>;

const secretColumns = (Object.keys(placesOf) as SecretPlace['table'][]).flatMap((table) =>
  Object.entries<SecretPlace['column']>(placesOf[table]).map(([column, place]) => ({
    ...{ table, column },
    context: ({ tenantId, id }: Ref) => contextOfSecret({ tenantId, table, column: place, id }),
  })),
);

/** Columns with sealed values that live longer than a day. */
export const sealedColumns: readonly SealedColumn[] = [
  ...secretColumns,
  ...['request', 'result'].map((column) => ({
    ...{ table: 'calls', column },
    context: (call: Ref) => contextOfCall(call, column),
  })),
  {
    table: 'channel_turns',
    column: 'request',
    context: (turn) => contextOfText(turn, 'channel_turns/request'),
  },
  {
    ...{ table: 'channel_messages', column: 'text', also: 'direction' },
    context: ({ also, ...message }) =>
      contextOfText(message, also === 'in' ? 'channel_messages/text' : 'channel_messages/piece'),
  },
];
