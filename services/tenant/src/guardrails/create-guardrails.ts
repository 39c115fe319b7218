import { Guard } from '@gatehouse/egress/guard';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import { guardrailHandlers } from './guardrail-handlers.ts';
import { assertReachable } from './outside-checks-client.ts';

/** Checks of texts, which chat enforces. */
export function createGuardrails({ app, system, changes, keyRing, chat, config }: BaseDependencies) {
  const guard = new Guard(config.EGRESS_ALLOW);
  return {
    handlers: guardrailHandlers({
      ...{ app, system, changes, keyRing },
      assertReachable: assertReachable({ chat, guard }),
      assertCompiled: () => Promise.resolve(),
    }),
  };
}
