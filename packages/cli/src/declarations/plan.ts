import type { Operation } from '../operations.ts';
import { UsageError } from '../usage-error.ts';
import type { Declaration, Declared } from './declared.ts';
import type { Members } from './members.ts';
import { differencesOf, merged, type Difference, type Sets } from './differences.ts';
import { creationOf, kinds, labelMember, type Kind } from './kinds.ts';
import { placeText } from './place.ts';
import { isAmbiguous, type Present } from './present.ts';
import { idsOf, withNames, type Ids } from './references.ts';

/** A step from the state of the gateway to the declared one. */
export interface Step {
  action: 'create' | 'update' | 'delete';
  kind: Kind;
  identity: string;
  /** The identity in texts, with `${NAME}` for a value of the environment. */
  shownName: string;
  /** The id of the existing thing. */
  id?: string;
  /** To send; an `agent` by its key instead of `agent_id`. */
  members: Members;
  /** Members to change, hidden ones included. */
  differing: readonly string[];
  differences: readonly Difference[];
  /** Missing variables of the environment, by the member to send. */
  missing: ReadonlyMap<string, string>;
  /** Absent for a deletion. */
  declaration?: Declaration;
}

export interface PlanOptions {
  /** Kept with agents; agents declared without a label keep theirs. */
  label: string | undefined;
  prune: boolean;
  sendSecrets: boolean;
  sets: SetsOfKinds;
}

/** Members with the meaning of sets in the contract, like `tools.builtin`, by the name of their kind. */
export type SetsOfKinds = ReadonlyMap<string, Sets>;

/** The sets in the body of a creation, by kind. */
export function setsOfKinds(operations: readonly Operation[]): SetsOfKinds {
  return new Map(kinds.map((kind) => [kind.name, new Set(creationOf(operations, kind)?.sets)]));
}

/**
 * The steps, in an order in which what is needed comes first; nothing is asked or changed. Throws `UsageError` with every
 * fixed difference.
 */
export function planSteps(declared: Declared, present: Present, options: PlanOptions): Step[] {
  const ids = idsOf(present);
  const mistakes: string[] = [];
  const steps: Step[] = [];
  for (const kind of kinds)
    for (const declaration of declared.get(kind) ?? []) {
      const state = { present, ids, options, mistakes };
      const step = stepFor(kind, labelled(kind, declaration, options.label), state);
      if (step !== undefined) steps.push(step);
    }
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  return options.prune ? [...steps, ...deletions(declared, present, options.label)] : steps;
}

function labelled(kind: Kind, declaration: Declaration, label: string | undefined): Declaration {
  if (kind.name !== 'agents' || label === undefined) return declaration;
  const withLabel = ({ metadata, ...members }: Members): Members => ({
    ...members,
    metadata: { ...(metadata as Members | undefined), [labelMember]: label },
  });
  return {
    ...declaration,
    members: withLabel(declaration.members),
    written: withLabel(declaration.written),
  };
}

interface PlanState {
  present: Present;
  ids: Ids;
  options: PlanOptions;
  mistakes: string[];
}

function stepFor(
  kind: Kind,
  declaration: Declaration,
  { present, ids, options, mistakes }: PlanState,
): Step | undefined {
  const { members, written, missing, place } = declaration;
  const identity = String(members[kind.identity]);
  const there = present.get(kind)?.get(identity);
  const shownName = String(written[kind.identity]);
  const common = { kind, identity, shownName, declaration };
  if (there === undefined)
    return {
      ...common,
      action: 'create',
      members,
      missing,
      differing: Object.keys(written),
      differences: [],
    };
  if (isAmbiguous(there)) {
    mistakes.push(
      `${placeText(place)}: ${kind.name}: several are named ${shownName}. Rename or delete the others first.`,
    );
    return undefined;
  }
  const current = withNames(there, members, ids);
  const differences = differencesFrom(current, kind, { declaration, sets: options.sets.get(kind.name) });
  const changed = [...new Set(differences.map(({ path }) => path[0] ?? ''))];
  const sent = options.sendSecrets ? kind.hidden.filter((name) => written[name] !== undefined) : [];
  if (changed.length === 0 && sent.length === 0) return undefined;
  const fixed = changed.filter((name) => kind.once.includes(name));
  if (fixed.length > 0) {
    mistakes.push(
      `${placeText(place, fixed.slice(0, 1))}: ${kind.name}: ${shownName} differs in ${fixed.join(', ')}, and can't be changed: name another, or remove this one first.`,
    );
    return undefined;
  }
  const differing = [...changed, ...sent];
  const extras = kind.options.filter((name) => members[name] !== undefined);
  const outer = sent.flatMap((name) => kind.inner[name] ?? []);
  const isSent = (name: string): boolean => [...differing, ...extras, ...outer].includes(name);
  return {
    ...common,
    action: 'update',
    id: String(there[kind.isPut ? kind.identity : 'id']),
    differing,
    differences,
    members: Object.fromEntries(
      Object.entries(members)
        .filter(([name]) => isSent(name))
        // Hidden members are shown in another form.
        .map(([name, value]) => [name, kind.hidden.includes(name) ? value : merged(current[name], value)]),
    ),
    missing: new Map([...missing].filter(([name]) => sent.includes(name))),
  };
}

/** The differences of all members shown by the gateway. */
function differencesFrom(
  current: Members,
  kind: Kind,
  {
    declaration: { members, written },
    sets = new Set(),
  }: { declaration: Declaration; sets: Sets | undefined },
): Difference[] {
  const isCompared = (name: string): boolean =>
    !kind.hidden.includes(name) &&
    !kind.options.includes(name) &&
    (!kind.once.includes(name) || name in current);
  return Object.entries(members)
    .filter(([name]) => isCompared(name))
    .flatMap(([name, declared]) =>
      differencesOf({ current: current[name], declared, written: written[name] }, [name], sets),
    );
}

/** Labelled agents, and their channels and endpoints, if no longer declared. */
function deletions(declared: Declared, present: Present, label: string | undefined): Step[] {
  const carriers = new Set<string>();
  for (const [kind, things] of present)
    if (kind.name === 'agents')
      for (const agent of things.values())
        if ((agent['metadata'] as Members | undefined)?.[labelMember] === label)
          carriers.add(String(agent['id']));
  const isOurs = (kind: Kind, thing: Members): boolean =>
    carriers.has(String(kind.name === 'agents' ? thing['id'] : thing['agent_id']));
  return kinds
    .filter(({ name }) => ['agents', 'channels', 'endpoints'].includes(name))
    .toReversed()
    .flatMap((kind) => {
      const declaredIds = new Set(declared.get(kind)?.map(({ members }) => members[kind.identity]));
      return [...(present.get(kind) ?? [])]
        .filter(([identity, thing]) => !declaredIds.has(identity) && isOurs(kind, thing))
        .map(([identity, thing]): Step => {
          const nothing = { members: {}, differing: [], differences: [], missing: new Map() };
          return {
            action: 'delete',
            kind,
            identity,
            shownName: identity,
            id: String(thing['id']),
            ...nothing,
          };
        });
    });
}
