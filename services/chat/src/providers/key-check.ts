import type { Provider } from '../catalogue/provider-schema.ts';

/** A call of a provider that costs nothing and needs a key: its list of models. */
export interface FreeCall {
  /** Behind the base address. */
  path: string;
  /** The status that refuses a key, and nothing else. A 403 may concern the list alone. */
  refusal: number;
}

/** Null for kinds without such a call. */
export function freeCallOf(provider: Provider): FreeCall | null {
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
