import type { Provider } from '../catalogue/provider-schema.ts';
import { fixedHeaders, keyHeader, type Secrets } from './credentials.ts';
import { awsKeys } from './grants/aws.ts';
import { bearer } from './grants/bearer.ts';
import { entraTokens } from './grants/entra.ts';
import { googleTokens } from './grants/google.ts';
import { signed } from './grants/signed.ts';
import { azure } from './kinds/azure.ts';
import { bedrock } from './kinds/bedrock.ts';
import { byApi } from './kinds/by-api.ts';
import { vertex } from './kinds/vertex.ts';
import type { ProviderKind } from './provider-kind.ts';

/**
 * How a provider of the catalogue is called: a kind without a case does not compile. `onFailure`: gets failures to renew
 * credentials, for the log.
 */
export function kindOf(
  provider: Provider,
  secrets: Secrets,
  onFailure: (error: Error) => void = () => undefined,
): ProviderKind {
  const secret = (named: string | undefined): string | undefined =>
    named === undefined ? undefined : secrets[named];
  const key = provider.kind === 'vertex' ? undefined : secret(provider.api_key_env);
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
      return azure(
        provider,
        provider.entra === undefined
          ? keyHeader('api-key', key)
          : bearer(entraTokens(provider.entra, secret(provider.entra.client_secret_env)), onFailure),
      );
    case 'vertex':
      return vertex(provider, bearer(googleTokens(provider.credentials_file), onFailure));
    case 'bedrock':
      return bedrock(
        provider.api_key_env === undefined
          ? signed(provider, awsKeys(provider, secrets), onFailure)
          : keyHeader('authorization', key, 'Bearer '),
      );
  }
}
