import type { ProviderOf } from '../../catalogue/provider-schema.ts';
import type { Credentials } from '../credentials.ts';
import type { ProviderKind } from '../provider-kind.ts';
import { formatOf } from './by-api.ts';

/**
 * OpenAI's APIs at a resource of Azure: all models at one address, or each at its deployment if a version of the API is
 * named (https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle).
 */
export function azure(
  { api_version: version }: Pick<ProviderOf<'azure'>, 'api_version'>,
  credentials: Credentials,
): ProviderKind {
  return {
    credentials,
    requestOf: (call, body) => {
      const { api, headers, model } = call;
      const path = formatOf(call).pathOf(call);
      if (version === undefined) return { path: `/openai/v1${path}`, headers, body };
      // The model of responses stands in the body alone, with a version, too.
      const deployment = api === 'responses' ? '' : `/deployments/${encodeURIComponent(model)}`;
      return { path: `/openai${deployment}${path}?api-version=${version}`, headers, body };
    },
    answersOf: (call) => ({ format: formatOf(call) }),
  };
}
