import type { Provider } from '../catalogue/provider-schema.ts';
import { fixedHeaders, keyHeader, type Secrets } from './credentials.ts';
import { azure } from './kinds/azure.ts';
import { bedrock } from './kinds/bedrock.ts';
import { byApi } from './kinds/by-api.ts';
import type { ProviderKind } from './provider-kind.ts';

/** How a provider of the catalogue is called: a kind without a case does not compile. */
export function kindOf(provider: Provider, secrets: Secrets): ProviderKind {
  const { api_key_env: named } = provider;
  const key = named === undefined ? undefined : secrets[named];
  switch (provider.kind) {
    case 'openai':
      return byApi(keyHeader('authorization', key, 'Bearer '));
    case 'anthropic':
      return byApi(
        fixedHeaders({
          ...(key !== undefined && { 'x-api-key': key }),
          // Clients name another version where they know one.
          'anthropic-version': '2023-06-01',
        }),
      );
    case 'google':
      return byApi(keyHeader('x-goog-api-key', key));
    case 'azure':
      return azure(provider, keyHeader('api-key', key));
    case 'bedrock':
      return bedrock(keyHeader('authorization', key, 'Bearer '));
  }
}
