import { isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { geminiVersion } from './model-name.ts';
import type { ProviderRule } from './rule.ts';

/** Rules of Gemini in Google Cloud's Vertex AI beyond those of Google's own API. */
export const vertexRules: readonly ProviderRule[] = [
  {
    ...{ id: 'vertex-call-ids', date: '2026-11-30', check: checkCallIds },
    // From Gemini 3 on since revision 20260921: https://github.com/anomalyco/opencode/pull/50504.
    source: 'https://github.com/pydantic/pydantic-ai/issues/5081',
  },
];

function checkCallIds({ contents }: JsonObject, model: string): string | null {
  if ((geminiVersion(model) ?? 0) >= 300) return null;
  for (const [index, content] of objectsIn(contents).entries()) {
    for (const [part, { functionCall: call, functionResponse: result }] of objectsIn(
      content['parts'],
    ).entries()) {
      const at = (name: string): string =>
        `Invalid JSON payload received. Unknown name "id" at 'contents[${index}].parts[${part}].${name}': Cannot find field.`;
      if (isObject(call) && call['id'] !== undefined) return at('function_call');
      if (isObject(result) && result['id'] !== undefined) return at('function_response');
    }
  }
  return null;
}
