import type { Operation } from '../conformance/openapi-document.ts';

/** The statuses of an operation's success. */
export function successesOf({ operationId, responses }: Operation): number[] {
  // The simulator answers no entities, and no response is made in the background.
  if (operationId === 'kg.extract' || operationId === 'responses.cancel') return [400, 502];
  return Object.keys(responses)
    .filter((status) => status.startsWith('2'))
    .map(Number);
}

/** First what makes something, then what reads, changes and uses it, and at last what ends it. */
export function rank(operation: Operation): number {
  const { method, operationId } = operation;
  if (
    /^(chat\.completions|responses\.create|login\.key)$/.test(operationId) ||
    operationId.endsWith('.upsert')
  )
    return 0.5;
  // After the target has accepted.
  if (operationId === 'transfers.create') return 2.1;
  if (operationId === 'transfers.get') return 2.2;
  if (successesOf(operation).some((status) => status === 201 || status === 202)) return 0;
  if (method === 'GET') return 1;
  // Parts of a resource before the resource itself.
  if (method === 'DELETE') return 5 - operation.path.split('/').length / 100;
  return operationId.endsWith('.revoke') ? 3 : 2;
}
