import type { Members } from './members.ts';
import { withInnerInside } from './inner-members.ts';
import type { Step } from './plan.ts';

/** The request of a step. */
export interface StepRequest {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  json?: Members;
}

/** The request of a step with these members. */
export function requestOfStep({ action, kind, id, identity }: Step, sent: Members): StepRequest {
  const members = withInnerInside(kind, sent);
  const item = `${kind.path}/${encodeURIComponent(id ?? identity)}`;
  if (action === 'delete') return { method: 'DELETE', path: item };
  if (kind.isPut) {
    const { [kind.identity]: _, ...json } = members;
    return { method: 'PUT', path: item, json };
  }
  return action === 'update'
    ? { method: 'PATCH', path: item, json: members }
    : { method: 'POST', path: kind.path, json: members };
}
