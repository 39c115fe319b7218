import type { GuardrailDefinition } from '@gatehouse/contract/guardrails';
import { newId } from '@gatehouse/kit/ids';
import type { Guardrail } from '@gatehouse/proto/tenant/v1/tenant';
import type { ChatHarness } from './chat-harness.ts';

const pii = { type: 'pii', types: ['email', 'phone', 'credit_card', 'iban'], regions: [] };
const inputs = ['system', 'user', 'tool_result'];

/** A guardrail for every run, as the tenant service sends it: it blocks personal data unless `fields` differ. */
export function guardrail(fields: Partial<GuardrailDefinition> = {}): Guardrail {
  const definition = {
    ...{ on: inputs, check: pii, action: 'block', except: [], message: null, unreadable: 'allow' },
    ...{ on_error: 'closed', timeout_ms: 2_000, hold: null, ...fields },
  };
  return {
    ...{ id: newId(), version: 1, name: fields.check?.type ?? 'pii', fromOwner: false },
    ...{ users: [], groups: [], agents: [], apiKeys: [], models: [] },
    ...{ definition: JSON.stringify(definition), secrets: Buffer.alloc(0) },
  };
}

/** A user of a tenant with these guardrails. */
export function guardedUser(
  { settings }: Pick<ChatHarness, 'settings'>,
  ...guardrails: Partial<GuardrailDefinition>[]
): { tenantId: string; userId: string } {
  const tenantId = newId();
  settings.set(tenantId, { guardrails: guardrails.map(guardrail) });
  return { tenantId, userId: 'ann' };
}
