import type { Guardrail as GuardrailMessage } from '@gatehouse/proto/tenant/v1/tenant';
import { selectionLists, type Selection } from '../policies/selection.ts';
import { nameForTenant } from '../shared/holder.ts';

/** A guardrail as chat needs it. */
export interface EnabledGuardrail {
  id: string;
  version: number;
  /** The tenant for which it holds. */
  tenantId: string;
  fromOwner: boolean;
  name: string;
  /** Names and patterns by field, of groups entries of `groupEntry`; fields without any are absent. */
  selection: Selection;
  /** The JSON of a `guardrailDefinition`. */
  definition: string;
  /** Credentials for its server, sealed. */
  secrets: Buffer | null;
}

/** A guardrail for chat, which enforces it. */
export function showEnabledGuardrail(guardrail: EnabledGuardrail): GuardrailMessage {
  const { id, version, fromOwner, selection, definition, secrets } = guardrail;
  return {
    ...{ id, version, name: nameForTenant(guardrail), fromOwner },
    ...selectionLists(selection),
    definition,
    secrets: secrets ?? Buffer.alloc(0),
  };
}
