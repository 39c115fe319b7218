import type { Dialect } from '@gatehouse/dialects/dialect';
import { dialectOf } from '@gatehouse/dialects/dialects';
import type { Credentials } from '../credentials.ts';
import type { ApiCall, ProviderKind } from '../provider-kind.ts';

/** Providers with the API of their own SDK, at an address as the SDK takes it. */
export function byApi(credentials: Credentials): ProviderKind {
  return {
    credentials,
    requestOf: (call, body) => ({ path: formatOf(call).pathOf(call), headers: call.headers, body }),
    answersOf: (call) => ({ format: formatOf(call) }),
  };
}

/** The format of an API of clients, too. */
export function formatOf({ api }: ApiCall): Dialect {
  const dialect = dialectOf(api);
  if (dialect === null) throw new Error(`no client speaks ${api}`);
  return dialect;
}
