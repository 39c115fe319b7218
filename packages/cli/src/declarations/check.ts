import { isDeepStrictEqual } from 'node:util';
import { ApiError, UnreachableError, type ApiClient, type ApiRequest } from '../api-client.ts';
import { UsageError } from '../usage-error.ts';
import { isMembers } from './members.ts';
import { placeText } from './place.ts';
import type { Step } from './plan.ts';
import { isAmbiguous, type Present } from './present.ts';
import { DeclarationError, problemOf, subjectOf, type DeclarationProblem } from './problem.ts';
import {
  createdBy,
  idsOf,
  referencesOf,
  serverOf,
  withoutCreated,
  type Ids,
  type NameReference,
} from './references.ts';
import { requestOfStep } from './step-request.ts';

type IsCreated = ReturnType<typeof createdBy>;

/**
 * Has the gateway check all steps as dry runs; nothing changes. References to what the steps create are checked here.
 * Returns the steps with an effect. Throws `UsageError` with every reference to nothing, and `DeclarationError` with
 * every refusal.
 */
export async function checkSteps(
  client: ApiClient,
  steps: readonly Step[],
  present: Present,
): Promise<Step[]> {
  const ids = idsOf(present);
  const isCreated = createdBy(steps);
  const mistakes = steps.flatMap((step) => mistakesOf(step, { ids, isCreated, present }));
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  const problems: DeclarationProblem[] = [];
  const effective: Step[] = [];
  const toolsOfServers = new Map<string, readonly string[]>();
  for (const step of steps) {
    const { body, isStandIn } = requestOf(step, { ids, isCreated });
    const answer: unknown = await client.json(body).catch((error: unknown) => {
      const refusal = refusalOf(step, error);
      if (!isStandIn || refusal.param !== 'agent_id') problems.push(problemOf(step, refusal));
    });
    if (step.kind.name === 'mcp_servers' && isMembers(answer) && step.members['verify'] !== false)
      toolsOfServers.set(step.identity, toolNames(answer['tools']));
    problems.push(...unknownTools(step, isCreated, toolsOfServers));
    const changing = effectiveStep(step, answer, present);
    if (changing !== null) effective.push(changing);
  }
  if (problems.length > 0) throw new DeclarationError(problems, 'Nothing was changed.');
  return effective;
}

/** References to nothing, and missing variables of the environment. */
function mistakesOf(
  step: Step,
  { ids, isCreated, present }: { ids: Ids; isCreated: IsCreated; present: Present },
): string[] {
  const { kind, shownName, members, declaration } = step;
  if (declaration === undefined) return [];
  const at = (path: readonly string[]): string =>
    `${placeText(declaration.place, path)}: ${kind.name} ${shownName}`;
  const missing = [...step.missing].map(
    ([member, variable]) => `${at([member])}: The environment has no ${variable}.`,
  );
  const isKnown = (reference: NameReference): boolean => {
    const { kind: named, name } = reference;
    return typeof name === 'string' && (ids[named].has(name) || isCreated(named, name));
  };
  const unknown = referencesOf(members).filter((reference) => !isKnown(reference));
  return [...missing, ...unknown.map((each) => `${at(each.path)}: ${unknownText(each, present)}`)];
}

function unknownText({ kind, name }: NameReference, present: Present): string {
  const things = [...present].find(([each]) => each.name === kind)?.[1];
  const thing = things?.get(String(name));
  return thing !== undefined && isAmbiguous(thing)
    ? `Several ${kind} are named ${JSON.stringify(name)}.`
    : `There is no ${kind.slice(0, -1)} ${JSON.stringify(name)}, and none is declared.`;
}

function requestOf(
  step: Step,
  references: { ids: Ids; isCreated: IsCreated },
): { body: ApiRequest; isStandIn: boolean } {
  const { json, isStandIn } = withoutCreated(step.members, references);
  const { path, ...request } = requestOfStep(step, json);
  return { body: { ...request, path: `${path}?dry_run=true`, isRepeatable: true }, isStandIn };
}

/**
 * The step without members unchanged by its `PUT`: a group of a user has another case, or the user has it from
 * another side. Null without any effect.
 */
function effectiveStep(step: Step, answer: unknown, present: Present): Step | null {
  const { action, kind, identity, members, differing, differences } = step;
  const thing = present.get(kind)?.get(identity);
  if (!kind.isPut || action !== 'update' || thing === undefined || !isMembers(answer)) return step;
  const changing = new Set(
    differing.filter((name) => !isDeepStrictEqual(inOrder(answer[name]), inOrder(thing[name]))),
  );
  if (changing.size === 0) return null;
  return {
    ...step,
    members: Object.fromEntries(Object.entries(members).filter(([name]) => changing.has(name))),
    differing: [...changing],
    differences: differences.filter(({ path: [name = ''] }) => changing.has(name)),
  };
}

function inOrder(value: unknown): unknown {
  return Array.isArray(value) ? value.map(String).toSorted() : value;
}

/** The refusal of one declaration. Throws errors of the others, too. */
function refusalOf(step: Step, error: unknown): ApiError {
  if (error instanceof UnreachableError)
    throw new UnreachableError(`${subjectOf(step)}: ${error.message}`, { cause: error });
  if (!(error instanceof ApiError)) throw error;
  if (error.code === 'unknown_parameter' && error.param === 'dry_run')
    throw new UsageError('This gateway is too old to check changes before they are made. Update it first.');
  if (error.status === 401 || error.status === 429 || error.status >= 500)
    throw new DeclarationError([problemOf(step, error)], 'Nothing was changed.');
  return error;
}

function toolNames(tools: unknown): string[] {
  return Array.isArray(tools) ? tools.filter(isMembers).map(({ name }) => String(name)) : [];
}

/** The tools of new servers in an agent, missing in the response to the check of the server. */
function unknownTools(
  step: Step,
  isCreated: IsCreated,
  toolsOfServers: ReadonlyMap<string, readonly string[]>,
): DeclarationProblem[] {
  const tools = step.kind.name === 'agents' ? step.members['tools'] : undefined;
  const refs: unknown = isMembers(tools) ? tools['mcp_servers'] : undefined;
  if (!Array.isArray(refs) || step.members['allow_missing'] === true) return [];
  return refs.flatMap((ref: unknown, index) => {
    const { server, tool } = serverOf(ref);
    const names = toolsOfServers.get(server) ?? [];
    if (tool === undefined || !isCreated('mcp_servers', server) || names.length === 0 || names.includes(tool))
      return [];
    const message = `The MCP server "${server}" has no tool "${tool}".`;
    const param = `tools.mcp_servers[${index}]`;
    const refusal = new ApiError({ status: 400, code: 'unknown_mcp_server', message, param });
    return [problemOf(step, refusal)];
  });
}
