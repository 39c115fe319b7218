import type { Component } from './sbom.ts';
import { compare } from './sbom.ts';

/**
 * Allowed licences of production dependencies: they permit commercial use, and distribution of a program that
 * contains the package, for a notice. A further one is a decision, not a line to add.
 */
const allowed: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]);

/** The licence of a component as an SPDX expression; empty if the package states none. */
export function licenceOf({ licenses = [] }: Component): string {
  const texts = licenses.map((entry) =>
    'expression' in entry ? entry.expression : (entry.license.id ?? entry.license.name ?? ''),
  );
  return texts.join(' AND ');
}

/** Whether an SPDX expression, in any case, of alternatives (`OR`) or of parts (`AND`), without both, is allowed. */
export function isAllowed(expression: string): boolean {
  const parts = expression.replace(/^\((.*)\)$/, '$1').split(/ (or|and) /i);
  const names = parts.filter((_, index) => index % 2 === 0);
  const operators = new Set(
    parts.filter((_, index) => index % 2 === 1).map((operator) => operator.toUpperCase()),
  );
  if (operators.size > 1) return false;
  return operators.has('OR')
    ? names.some((name) => allowed.has(name))
    : names.every((name) => allowed.has(name));
}

/** Lists packages with their licences, a line each. Throws with every package without an allowed licence. */
export function licenceList(components: readonly Component[]): string {
  const lines = new Map(components.map((component) => [component['bom-ref'], licenceOf(component)]));
  const sorted = [...lines].sort(([a], [b]) => compare(a, b));
  const refused = sorted.filter(([, licence]) => !isAllowed(licence));
  if (refused.length > 0) {
    const names = refused.map(([ref, licence]) => `  ${ref}: ${licence === '' ? 'states none' : licence}`);
    throw new Error(
      `These packages have licences that deploy/release/licences.ts does not allow:\n${names.join('\n')}`,
    );
  }
  return sorted.map(([ref, licence]) => `${ref}\t${licence}\n`).join('');
}
