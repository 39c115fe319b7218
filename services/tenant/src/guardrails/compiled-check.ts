import { isBuiltIn } from '@gatehouse/contract/guardrail-checks';
import type { GuardrailDefinition } from '@gatehouse/contract/guardrails';
import type { GuardrailCompiler } from '@gatehouse/guardrails/guardrail-compiler';
import { AppError } from '@gatehouse/kit/errors';

/** Throws `invalid_pattern`, `pattern_unbounded` and `invalid_value`. `tenantId`: null for the owner. */
export type AssertCompiled = (tenantId: string | null, definition: GuardrailDefinition) => Promise<void>;

/** Compiles the patterns of built-in checks apart, tenants in turn. */
export function assertCompiled(compiler: Pick<GuardrailCompiler, 'problemOf'>): AssertCompiled {
  return async (tenantId, { check, except, hold }) => {
    if (!isBuiltIn(check)) return;
    const problem = await compiler.problemOf(tenantId ?? 'owner', { check, except, hold });
    if (problem !== null) throw new AppError(problem.code, problem.message, { param: problem.param });
  };
}
