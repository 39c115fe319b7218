import { formData } from '@gatehouse/contract/route';
import { newId } from '@gatehouse/kit/ids';
import { ownParameters, roleFor, type Operation } from '../conformance/openapi-document.ts';

/** The statuses of an operation's success. */
export function successesOf({ operationId, responses }: Operation): number[] {
  // No person has allowed the code of the example.
  if (operationId === 'login.token') return [400];
  // The simulator answers no entities, and no response is made in the background.
  if (operationId === 'kg.extract' || operationId === 'responses.cancel') return [400, 502];
  return Object.keys(responses)
    .filter((status) => status.startsWith('2'))
    .map(Number);
}

/** Whether an operation lists page by page, so that it also answers with CSV. */
export function isTable({ responses }: Operation): boolean {
  const { content = {} } = responses['200'] ?? {};
  return content['application/json'] !== undefined && content['text/csv'] !== undefined;
}

interface Parameters {
  params?: Record<string, string>;
  query?: Record<string, string>;
}

/** The path of a request, with its query. */
export function pathOf({ path }: Operation, { params = {}, query = {} }: Parameters): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  return `${filled}?${new URLSearchParams(query).toString()}`;
}

/** First what makes something, then what reads, changes and uses it, and at last what ends it. */
export function rank(operation: Operation): number {
  const { method, operationId } = operation;
  // After batches have started, which take none.
  if (/^(owner\.)?guardrails\.(create|list|get)$/.test(operationId)) return method === 'POST' ? 1.1 : 1.2;
  if (
    /^(chat\.completions|(responses|files|batches|messages\.batches)\.create|login\.key)$/.test(
      operationId,
    ) ||
    operationId.endsWith('.upsert')
  )
    return 0.5;
  // While it is under way.
  if (operationId === 'batches.cancel' || operationId === 'messages.batches.cancel') return 0.6;
  // After the target has accepted.
  if (operationId === 'transfers.create') return 2.1;
  if (operationId === 'transfers.get') return 2.2;
  if (successesOf(operation).some((status) => status === 201 || status === 202)) return 0;
  if (method === 'GET') return 1;
  // Parts of a resource before the resource itself.
  if (method === 'DELETE') return 5 - operation.path.split('/').length / 100;
  return operationId.endsWith('.revoke') ? 3 : 2;
}

/** The acting user of operations that need one. */
export const actingUser = { headers: { 'x-service-user-id': 'ada' } };

export function actingUserOf({ operationId }: Operation): Partial<typeof actingUser> {
  const needsOne = /^browser\.cookies\.|^mcp\.logins\.|\.servers\.consent-links\.|^runs\.stop$/.test(
    operationId,
  );
  return needsOne ? actingUser : {};
}

/** The request bodies that an operation shows; one without a body where it takes none. */
export function bodiesOf({ requestBody }: Operation): [name: string, body: unknown][] {
  const { 'application/json': json, [formData]: form } = requestBody?.content ?? {};
  if (form !== undefined)
    return Object.entries(form.examples).map(([name, { value }]) => [name, formOf(value as FormFields)]);
  if (json === undefined) return [['no body', undefined]];
  return Object.entries(json.examples).map(([name, { value }]) => [name, value]);
}

type FormFields = Record<string, string>;

function formOf(fields: FormFields): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    form.append(name, name === 'file' ? new File([value], 'requests.jsonl') : value);
  return form;
}

/** A request's body, with the type that it has unless `fetch` sets that. */
export function sentBody(body: unknown): { body?: string | FormData; headers?: Record<string, string> } {
  if (body === undefined) return {};
  if (body instanceof FormData) return { body };
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

/** A run shows in traces a moment after its end, and a webhook's call has its result when it has ended, as a batch has. */
export const takeAMoment = new Set([
  ...['traces.get', 'traces.content', 'webhooks.calls.redeliver'],
  ...['messages.batches.results', 'messages.batches.delete'],
]);

/** The collections with ids that are no UUIDs, in the form of OpenAI's. */
export const withTheirIds = ['/v1/responses', '/v1/files', '/v1/batches', '/v1/messages/batches'];

/** Well-formed ids of no resource. */
export function unknownIds(operation: Operation): Record<string, string> {
  return Object.fromEntries(ownParameters(operation).map(({ name }) => [name, newId()]));
}

/** Whether the path names a resource; a user need not be known. */
export function namesResource(operation: Operation): boolean {
  return ownParameters(operation).some(({ in: place, name }) => place === 'path' && name !== 'user_id');
}

/** The example of each parameter in the query. */
export function queryOf(operation: Operation): Record<string, string> {
  const shown = ownParameters(operation).filter(
    ({ in: place, example }) => place === 'query' && example !== undefined,
  );
  return Object.fromEntries(shown.map(({ name, example }) => [name, String(example)]));
}

/** The role whose key sends an example: memory is written for an agent, and runs have no user. */
export function exampleRole(operation: Operation): ReturnType<typeof roleFor> {
  const names = [operation['x-required-scope'], operation.operationId];
  return names.includes('memory.write') || names.includes('traces.content') ? 'admin' : roleFor(operation);
}
