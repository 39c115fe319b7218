import { Guard } from '@gatehouse/egress/guard';
import { GuardrailCompiler } from '@gatehouse/guardrails/guardrail-compiler';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import { foundByTenant } from '../shared/found-by-tenant.ts';
import { assertCompiled } from './compiled-check.ts';
import { guardrailHandlers } from './guardrail-handlers.ts';
import { GuardrailSystemStore } from './guardrail-system-store.ts';
import { assertReachable } from './outside-checks-client.ts';

/** Guardrails of tenants and of the owner. */
export function createGuardrails(base: BaseDependencies) {
  const { known, app, system, changes, keyRing, chat, config } = base;
  const enabled = foundByTenant(new GuardrailSystemStore(known));
  const compiler = new GuardrailCompiler();
  return {
    handlers: guardrailHandlers({
      ...{ app, system, changes, keyRing },
      assertReachable: assertReachable({ chat, guard: new Guard(config.EGRESS_ALLOW) }),
      assertCompiled: assertCompiled(compiler),
    }),
    parts: [{ stop: () => compiler.stop() }],
    findEnabled: (tenantId: string) => enabled.get(tenantId),
  };
}
