import path from 'node:path';
import { unlessAborted } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import { TenantCache } from '@gatehouse/kit/tenant-cache';
import { Sandbox } from '@gatehouse/sandbox/sandbox';
import { bytesOf } from './automaton.ts';
import { hasTelephones, piiShapes } from './checks/pii.ts';
import { secretShapes } from './checks/secrets.ts';
import { type CompiledCheck, patternsCheck, shapesCheck } from './compiled-check.ts';
import type { CompileInput, CompileOutput } from './compile-task.ts';
import type { DefinitionProblem, GuardrailDefinition } from './definition.ts';

const file = path.join(import.meta.dirname, `compile-task${path.extname(import.meta.filename)}`);

/**
 * Compiled guardrails in memory. All of a tenant fit into its part (`maxCheckBytes`). The tenant with the most loses its
 * least recently used ones if all bytes are in use: its next run compiles them again.
 */
export const cacheBounds = { maxBytes: 128 * 2 ** 20, maxBytesPerTenant: 32 * 2 ** 20 };

/** Processor time to compile patterns. Saved ones took less than half of it. */
const deadlinesMs = { check: 5_000, compile: 12_000 };

/** A guardrail as a run has it. */
export interface StoredGuardrail extends GuardrailDefinition {
  readonly id: string;
  /** Another one after each change. */
  readonly version: string;
}

/** How long a run waits for a guardrail. */
export interface CompileWait {
  readonly deadlineMs: number;
  /** Aborts when the run is no longer wanted. */
  readonly signal: AbortSignal;
}

/**
 * Makes guardrails ready for scans. Patterns are compiled in a process of the sandbox, bounded in time and memory, one
 * guardrail of a tenant at a time and tenants in turn: one tenant's patterns slow no other.
 */
export class GuardrailCompiler {
  readonly #sandbox = new Sandbox<CompileInput, CompileOutput>({
    ...{ file, task: 'compile', processes: 1, maxHeapMiB: 192 },
    ...{ maxWaiting: 1_024, maxWaitingPerTenant: 64, deadlineMs: deadlinesMs.compile },
  });
  readonly #cache = new TenantCache<CompiledCheck>({
    ...cacheBounds,
    bytesOf: ({ automata }) => automata.reduce((sum, each) => sum + bytesOf(each), 0),
  });
  readonly #calls = new SharedCalls<CompiledCheck>();

  /** Ends the process. Work under way fails. */
  async stop(): Promise<void> {
    await this.#sandbox.stop();
  }

  /** Why a guardrail can't be saved; null if it can. Throws `service_unavailable` when too much work waits. */
  async problemOf(tenantId: string, { check, hold }: GuardrailDefinition): Promise<DefinitionProblem | null> {
    if (check.type === 'secrets') return null;
    if (check.type === 'pii') return regionProblem(check.regions ?? []);
    const input = { check, isHeld: hold === 'answer', needsTables: false };
    try {
      const output = await this.#sandbox.run(tenantId, input, { deadlineMs: deadlinesMs.check });
      return 'problem' in output ? output.problem : null;
    } catch (error) {
      if (error instanceof AppError) throw error;
      // The process was ended at its deadline, or ran out of memory.
      const message = "The patterns can't be used: they need too much time or memory.";
      return { code: 'invalid_pattern', param: 'check.patterns', message };
    }
  }

  /**
   * A guardrail in memory, or compiled once for all runs waiting for it. Throws if it can't be compiled, a `TimeoutError`
   * at the deadline, and the reason of the signal; it is compiled all the same then.
   */
  async compiled(
    tenantId: string,
    guardrail: StoredGuardrail,
    { deadlineMs, signal }: CompileWait,
  ): Promise<CompiledCheck> {
    const key = `${guardrail.id}:${guardrail.version}`;
    const known = this.#cache.get(tenantId, key);
    if (known !== undefined) return known;
    const call = this.#calls.get(`${tenantId}:${key}`, async () => {
      const check = await this.compile(tenantId, guardrail);
      this.#cache.set(tenantId, key, check);
      return check;
    });
    return unlessAborted(AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]), call);
  }

  /** Compiles a guardrail without a place in memory: one not saved yet. Throws if it can't be compiled. */
  async compile(tenantId: string, { check, except, hold }: GuardrailDefinition): Promise<CompiledCheck> {
    if (check.type === 'pii') return shapesCheck(piiShapes(check), except);
    if (check.type === 'secrets') return shapesCheck(secretShapes(check.types), except);
    const output = await this.#sandbox.run(tenantId, { check, isHeld: hold === 'answer', needsTables: true });
    if ('problem' in output) throw new Error(output.problem.message);
    return patternsCheck(check, output.automata, except);
  }
}

function regionProblem(regions: readonly string[]): DefinitionProblem | null {
  const index = regions.findIndex((region) => !hasTelephones(region));
  if (index === -1) return null;
  const message = `${regions[index]} has no telephone numbers of its own.`;
  return { code: 'invalid_value', param: `check.regions[${index}]`, message };
}
