import { changeText } from './differences.ts';
import { placeText } from './place.ts';
import type { Step } from './plan.ts';

const signs = { create: '+', update: '~', delete: '-' };

/** A step for programs. */
export function stepData({ action, kind, shownName, differing, differences, declaration }: Step): object {
  return {
    ...{ action, kind: kind.name, name: shownName, members: differing },
    file: declaration?.place.file ?? null,
    line: declaration?.place.lineOf() ?? null,
    changes: differences.map((difference) => ({
      member: difference.path.join('.'),
      old: shownOld(difference) ?? null,
      new: difference.new ?? null,
      line: declaration?.place.lineOf(difference.path) ?? null,
    })),
  };
}

/** A step in a plan, with a line for each change of a member. */
export function plannedLines({
  action,
  kind,
  shownName,
  differing,
  differences,
  declaration,
}: Step): string[] {
  const place = declaration === undefined ? '' : ` (${placeText(declaration.place)})`;
  const changes = differences.map((difference) => {
    const line = declaration?.place.lineOf(difference.path) ?? '';
    const change = changeText({ old: shownOld(difference), new: difference.new });
    return `    ${difference.path.join('.')}: ${change} (line ${line})`;
  });
  const seen = new Set(differences.map(({ path }) => path[0]));
  const hidden = action === 'update' ? differing.filter((name) => !seen.has(name)) : [];
  return [
    `${signs[action]} ${action} ${kind.name} ${shownName}${place}`,
    ...changes,
    ...hidden.map((name) => `    ${name}: sent again, can't be compared`),
  ];
}

/** A finished step. */
export function doneLine({ action, kind, shownName, differing }: Step): string {
  const members = action === 'update' ? ` (${differing.join(', ')})` : '';
  return `${signs[action]} ${action}d ${kind.name} ${shownName}${members}`;
}

/** The old value of a member with variables of the environment may be a secret. */
function shownOld({ old, new: next }: { old: unknown; new: unknown }): unknown {
  return /(^|[^$])\$\{\w+\}/.test(JSON.stringify(next)) && old !== undefined && old !== null
    ? '(not shown)'
    : old;
}
