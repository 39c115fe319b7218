import type { CheckView } from '@gatehouse/contract/guardrail-checks';
import type * as guardrails from '@gatehouse/contract/guardrails';
import { showOwnerSelection, showSelection } from '../policies/selection.ts';
import { nameForTenant } from '../shared/holder.ts';
import type { Guardrail } from './guardrail.ts';

/** A guardrail for admins of a tenant, who see of those of the owner who gets their texts, under another name. */
export function showGuardrail(guardrail: Guardrail): guardrails.Guardrail {
  const { selection, tenantId, name, definition } = guardrail;
  const fromOwner = tenantId === null;
  return {
    ...showCommon(guardrail),
    name: nameForTenant({ name, fromOwner }),
    select: showSelection(selection),
    ...(fromOwner && { except: [], check: withoutDetails(definition.check) }),
  };
}

/** A guardrail for the owner. */
export function showOwnerGuardrail(guardrail: Guardrail): guardrails.OwnerGuardrail {
  const { selection, tenants } = guardrail;
  return {
    ...showCommon(guardrail),
    select: showOwnerSelection(selection),
    tenants: tenants === null ? null : [...tenants],
  };
}

function showCommon({ id, name, definition, enabled, createdAt, updatedAt }: Guardrail) {
  return {
    ...{ id, name, ...definition, enabled },
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

/** The type of a check and the recipient of the texts: its host or model. */
function withoutDetails(check: CheckView): CheckView {
  switch (check.type) {
    case 'pii':
    case 'secrets':
      return check;
    case 'patterns':
      return { ...check, patterns: [], words: [] };
    case 'moderation':
      return { ...check, categories: {} };
    case 'model':
      return { ...check, instructions: '', labels: [] };
    case 'presidio':
      return { ...check, url: originOf(check.url), auth: { type: 'none' } };
    case 'webhook':
      return { ...check, url: originOf(check.url), auth: { type: 'none' }, params: {} };
  }
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? '';
}
