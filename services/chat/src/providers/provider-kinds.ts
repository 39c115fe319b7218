import { takesKeys, type KeyedKind, type Provider } from '../catalogue/provider-schema.ts';
import { fixedHeaders, noCredentials, type Secrets } from './credentials.ts';
import { awsKeys } from './credentials/aws.ts';
import { bearer } from './credentials/bearer.ts';
import { entraTokens } from './credentials/entra.ts';
import { fileKey } from './credentials/file-key.ts';
import { googleTokens } from './credentials/google.ts';
import { signed } from './credentials/signed.ts';
import { azure } from './kinds/azure.ts';
import { bedrock } from './kinds/bedrock.ts';
import { byApi } from './kinds/by-api.ts';
import type { KeySource } from './key-pool.ts';
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
  if (!takesKeys(provider))
    return vertex(provider, bearer(googleTokens(provider.credentials_file), onFailure));
  const { api_key_env: keyName } = provider;
  const key = secret(keyName);
  const keyCredentials = fixedHeaders(
    keyHeaders(provider.kind, key),
    key === undefined ? keyName : undefined,
  );
  switch (provider.kind) {
    case 'openai':
    case 'anthropic':
    case 'google':
      return byApi(keyCredentials);
    case 'azure':
      return azure(
        provider,
        provider.entra === undefined
          ? keyCredentials
          : bearer(entraTokens(provider.entra, secret(provider.entra.client_secret_env)), onFailure),
      );
    case 'bedrock': {
      const hasKey = provider.api_key_env !== undefined || provider.keys !== undefined;
      return bedrock(hasKey ? keyCredentials : signed(provider, awsKeys(provider, secrets), onFailure));
    }
  }
}

/** The headers with the key of a kind of provider. `key`: undefined for servers without one. */
export function keyHeaders(kind: KeyedKind, key: string | undefined): Record<string, string> {
  switch (kind) {
    case 'openai':
    case 'bedrock':
      return key === undefined ? {} : { authorization: `Bearer ${key}` };
    case 'anthropic':
      return {
        ...(key !== undefined && { 'x-api-key': key }),
        // Clients name another version where they know one.
        'anthropic-version': '2023-06-01',
      };
    case 'google':
      return key === undefined ? {} : { 'x-goog-api-key': key };
    case 'azure':
      return key === undefined ? {} : { 'api-key': key };
  }
}

/**
 * A free call of a provider with a key: its list of models, with the status for a refused key and nothing else (a 403
 * may concern the list alone). Null for kinds without one.
 */
export function freeCallOf(provider: Provider): { path: string; refusal: number } | null {
  switch (provider.kind) {
    case 'openai':
      return { path: '/models', refusal: 401 };
    case 'anthropic':
      return { path: '/v1/models?limit=1', refusal: 401 };
    case 'google':
      // Google takes a wrong key for a wrong request.
      return { path: '/v1beta/models?pageSize=1', refusal: 400 };
    case 'azure': {
      const { api_version: version } = provider;
      const path = version === undefined ? '/openai/v1/models' : `/openai/models?api-version=${version}`;
      return { path, refusal: 401 };
    }
    case 'bedrock':
    case 'vertex':
      return null;
  }
}

/** The keys of a provider's pool; empty for a provider without one. See `kindOf`. */
export function poolKeysOf(
  provider: Provider,
  secrets: Secrets,
  onFailure: (error: Error) => void,
): KeySource[] {
  if (!takesKeys(provider)) return [];
  const { kind, keys = [] } = provider;
  return keys.map(({ env, file, weight }) => {
    if (file !== undefined)
      return { ...fileKey(file, (key) => keyHeaders(kind, key), onFailure), id: `file ${file}`, weight };
    const key = env === undefined ? undefined : secrets[env];
    const credentials =
      key === undefined
        ? noCredentials('the variable with the key is not set')
        : fixedHeaders(keyHeaders(kind, key));
    return { credentials, id: `env ${env ?? ''}`, weight };
  });
}
