import type { ApiError } from '../api-client.ts';
import type { Declaration } from './declared.ts';
import { pathOfParam, placeText } from './place.ts';
import type { Step } from './plan.ts';

/** A declaration refused by the gateway. */
export interface DeclarationProblem {
  kind: string;
  name: string;
  file: string | null;
  line: number | null;
  code: string;
  message: string;
  param: string | null;
  request_id: string | null;
}

/** The gateway refuses declarations: exit code 1. */
export class DeclarationError extends Error {
  readonly problems: readonly DeclarationProblem[];
  /** A sentence about what was done before. */
  readonly outcome: string;

  constructor(problems: readonly DeclarationProblem[], outcome: string) {
    super(`${problems.map(problemText).join('\n')}\n${outcome}`);
    this.problems = problems;
    this.outcome = outcome;
  }
}

type Subject = Pick<Step, 'kind' | 'shownName' | 'declaration'>;

/** The problem of a refused step. */
export function problemOf({ kind, shownName, declaration }: Subject, error: ApiError): DeclarationProblem {
  const { code, message, param = null, requestId = null } = error;
  const path = pathOfParam(param ?? '');
  const [member = '', ...others] = path;
  return {
    kind: kind.name,
    name: shownName,
    file: declaration?.place.file ?? null,
    line:
      declaration?.place.lineOf([member === 'agent_id' ? memberOfAgent(declaration) : member, ...others]) ??
      null,
    ...{ code, message, param },
    request_id: requestId,
  };
}

/** The place, the kind and the name of a step, such as `declared.yaml:3: agents clerk`. */
export function subjectOf({ kind, shownName, declaration }: Subject): string {
  const place = declaration === undefined ? '' : `${placeText(declaration.place)}: `;
  return `${place}${kind.name} ${shownName}`;
}

function memberOfAgent({ written }: Declaration): string {
  return written['agent'] === undefined ? 'agent_id' : 'agent';
}

function problemText({
  file,
  line,
  kind,
  name,
  code,
  message,
  request_id: requestId,
}: DeclarationProblem): string {
  const place = file === null ? '' : `${file}:${line}: `;
  const request = requestId === null ? '' : ` (request ${requestId})`;
  return `${place}${kind} ${name}: ${code}: ${message}${request}`;
}
