import type { GuardrailCompiler } from '@gatehouse/guardrails/guardrail-compiler';
import { minuteMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import { counter, type Registry } from '@gatehouse/kit/metrics';
import { isBuiltIn } from '@gatehouse/contract/guardrail-checks';
import { guardedTexts } from '@gatehouse/contract/guardrail-rules';
import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import type { SelectedRun } from '@gatehouse/kit/selection-index';
import { compiledWithinMs } from '../bounds.ts';
import { Throttle } from '../shared/throttle.ts';
import {
  guardrailUnavailable,
  isUnavailable,
  type Guardrail,
  type GuardrailIndex,
} from '../policies/guardrail.ts';
import { RunGuardrails, type Finding } from './run-guardrails.ts';
import { kindChecks, type CheckedGuardrail, type CheckFailure, type KindChecks } from './text-checks.ts';

/** A run whose guardrails are looked up. */
export interface GuardedRun {
  tenantId: string;
  selected: SelectedRun;
  /** Its chain. */
  models: readonly string[];
}

export interface GuardrailsOptions {
  registry: Registry;
  log: Logger;
  compiler: Pick<GuardrailCompiler, 'compiled'>;
  /** A guardrail has blocked a text of a run. */
  onBlocked: (run: GuardedRun, finding: Finding) => void;
  /** The check of a guardrail can't be made, or failed. */
  onFailing: (run: GuardedRun, guardrail: Guardrail) => void;
}

/** Makes the guardrails of runs, and counts what they find. */
export class Guardrails {
  readonly #onBlocked: GuardrailsOptions['onBlocked'];
  readonly #onFailing: GuardrailsOptions['onFailing'];
  readonly #compiler: Pick<GuardrailCompiler, 'compiled'>;
  readonly #log: Logger;
  readonly #logged = new Throttle(minuteMs);
  readonly #findings;

  constructor({ registry, log, compiler, onBlocked, onFailing }: GuardrailsOptions) {
    this.#log = log;
    this.#compiler = compiler;
    this.#onBlocked = onBlocked;
    this.#onFailing = onFailing;
    this.#findings = counter(
      registry,
      'gatehouse_guardrail_findings_total',
      'Texts in which guardrails found something, by the type of check, the kind of text and what became of it',
      ['check', 'on', 'outcome'],
    );
  }

  /**
   * The guardrails of a run: all it matches with any model of its chain, so no fallback and no request switches one off.
   * Null without any. They refuse it where a closed one can't be applied, or is not compiled in time. Throws the reason of
   * the signal.
   */
  async guardrailsOf(
    index: GuardrailIndex,
    run: GuardedRun,
    signal: AbortSignal,
  ): Promise<RunGuardrails | null> {
    try {
      return await this.#matching(index, run, signal);
    } catch (error) {
      if (isUnavailable(error)) return RunGuardrails.unavailable(error);
      throw error;
    }
  }

  async #matching(
    index: GuardrailIndex,
    run: GuardedRun,
    signal: AbortSignal,
  ): Promise<RunGuardrails | null> {
    const guardrails = index.matching(run.selected, run.models);
    if (guardrails.length === 0) return null;
    const unmade = guardrails.filter((each) => !isBuiltIn(each.check));
    for (const each of unmade) this.#onFailing(run, each);
    const closed = unmade.find((each) => each.onError === 'closed');
    if (closed !== undefined) throw guardrailUnavailable(closed);
    const compiled = await Promise.all(guardrails.map((each) => this.#compiled(each, run, signal)));
    const applied = compiled.filter((each) => each !== null);
    const checks = new Map<GuardedText, KindChecks>();
    for (const place of guardedTexts) {
      if (!guardrails.some(({ on }) => on.includes(place))) continue;
      checks.set(place, kindChecks(applied.filter(({ guardrail }) => guardrail.on.includes(place))));
    }
    return new RunGuardrails({
      ...{ guardrails, applied: new Set(applied.map(({ guardrail }) => guardrail)), checks, outside: [] },
      onFailure: (failure) => this.#fail(run, failure),
      onFinding: (finding) => this.#count(run, finding),
    });
  }

  /**
   * Null for one of another kind of check, and for an open one without a compiled check. Those of the owner are compiled
   * once for all tenants.
   */
  async #compiled(
    guardrail: Guardrail,
    run: GuardedRun,
    signal: AbortSignal,
  ): Promise<CheckedGuardrail | null> {
    const { id, version, check, except, hold, isOwner } = guardrail;
    if (!isBuiltIn(check)) return null;
    const stored = { id, version: String(version), check, except, hold };
    try {
      const wait = { deadlineMs: compiledWithinMs, signal };
      return {
        guardrail,
        check: await this.#compiler.compiled(isOwner ? 'owner' : run.tenantId, stored, wait),
      };
    } catch (cause) {
      signal.throwIfAborted();
      this.#fail(run, { guardrail, cause });
      if (guardrail.onError === 'open') return null;
      throw guardrailUnavailable(guardrail);
    }
  }

  /** Logs a failure once a minute and guardrail, without the message of its error: it may have a part of a text. */
  #fail(run: GuardedRun, { guardrail, cause }: CheckFailure): void {
    const { id, name } = guardrail;
    this.#onFailing(run, guardrail);
    if (!this.#logged.passes(id)) return;
    const { name: error, stack = '' } = cause instanceof Error ? cause : new Error();
    const frames = stack.split('\n').filter((line) => /^ +at /.test(line));
    this.#log.error({ guardrail_id: id, guardrail: name, error, frames }, 'the check of a guardrail failed');
  }

  #count(run: GuardedRun, finding: Finding): void {
    const { guardrail, on, outcome } = finding;
    this.#findings.inc({ check: guardrail.check.type, on, outcome });
    if (outcome === 'blocked') this.#onBlocked(run, finding);
  }
}
