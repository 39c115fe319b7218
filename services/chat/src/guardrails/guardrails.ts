import { isBuiltIn, type CheckView, type NewCheck } from '@gatehouse/contract/guardrail-checks';
import { guardedTexts, type GuardedText } from '@gatehouse/contract/guardrail-rules';
import { Exceptions } from '@gatehouse/guardrails/exceptions';
import type { GuardrailCompiler } from '@gatehouse/guardrails/guardrail-compiler';
import { minuteMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import { counter, type Registry } from '@gatehouse/kit/metrics';
import type { SelectedRun } from '@gatehouse/kit/selection-index';
import { openGuardrailSecrets } from '@gatehouse/secrets/guardrail-secrets';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { compiledWithinMs } from '../bounds.ts';
import { Throttle } from '../shared/throttle.ts';
import {
  guardrailUnavailable,
  isUnavailable,
  type Guardrail,
  type GuardrailIndex,
} from '../policies/guardrail.ts';
import type { OutsideChecks } from './outside/outside-checks.ts';
import type { OutsideGuardrail } from './outside/outside-guardrails.ts';
import type { Finding, RunGuardrailsOptions } from './run-guardrails-options.ts';
import { RunGuardrails } from './run-guardrails.ts';
import { placeholderHasher, Substitution } from './substitution.ts';
import { kindChecks, type CheckedGuardrail, type CheckFailure, type KindChecks } from './text-checks.ts';

/** A run whose guardrails are looked up. */
export interface GuardedRun {
  tenantId: string;
  selected: SelectedRun;
  /** Its chain. */
  models: readonly string[];
  /** Whether the texts of its request are of earlier ones. */
  isOlder?: boolean;
}

/** A run with the guardrails that have failed so far. */
interface AskedRun extends Pick<RunGuardrailsOptions, 'onFailure' | 'onFailing'> {
  run: GuardedRun;
  failing: Guardrail[];
}

export interface GuardrailsOptions {
  registry: Registry;
  log: Logger;
  compiler: Pick<GuardrailCompiler, 'compiled'>;
  outside: Pick<OutsideChecks, 'checkOf'>;
  keyRing: KeyRing;
  /** A guardrail has blocked a text of a run. */
  onBlocked: (run: GuardedRun, finding: Finding) => void;
  /** The check of a guardrail can't be made, or failed, for a run that its limits admit. */
  onFailing: (run: GuardedRun, guardrail: Guardrail) => void;
}

/** Makes the guardrails of runs, and counts what they find. */
export class Guardrails {
  readonly #options: GuardrailsOptions;
  readonly #outside = new WeakMap<Guardrail, OutsideGuardrail>();
  readonly #logged = new Throttle(minuteMs);
  readonly #findings;

  constructor(options: GuardrailsOptions) {
    this.#options = options;
    this.#findings = counter(
      options.registry,
      'gatehouse_guardrail_findings_total',
      'Texts in which guardrails found something, or could not look, by the type of check, the kind of text and what became of it',
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
    const failing: Guardrail[] = [];
    const onFailing = (guardrail: Guardrail): void => this.#options.onFailing(run, guardrail);
    const onFailure = (failure: CheckFailure): void => this.#log(failure);
    try {
      return await this.#matching(index, { run, failing, onFailing, onFailure }, signal);
    } catch (error) {
      if (isUnavailable(error)) return RunGuardrails.unavailable(error, { failing, onFailing });
      throw error;
    }
  }

  async #matching(
    index: GuardrailIndex,
    lookup: AskedRun,
    signal: AbortSignal,
  ): Promise<RunGuardrails | null> {
    const { run, ...failures } = lookup;
    const guardrails = index.matching(run.selected, run.models);
    if (guardrails.length === 0) return null;
    const made = await Promise.all(guardrails.map((each) => this.#made(each, lookup, signal)));
    const known = made.filter((each) => each !== null);
    const outside = known.filter(isOutside);
    const compiled = known.filter((each): each is CheckedGuardrail => !isOutside(each));
    const asking = new Set(outside.map(({ guardrail }) => guardrail));
    const checks = new Map<GuardedText, KindChecks>();
    for (const place of guardedTexts) {
      const scanning = guardrails.filter((each) => !asking.has(each) && each.on.includes(place));
      if (scanning.length === 0) continue;
      checks.set(place, kindChecks(compiled.filter(({ guardrail }) => guardrail.on.includes(place))));
    }
    const substitutes = compiled.some(({ guardrail }) => guardrail.action === 'substitute');
    const { keyRing } = this.#options;
    return new RunGuardrails({
      substitution: substitutes ? new Substitution(placeholderHasher(keyRing, run.tenantId)) : null,
      ...{ guardrails, applied: new Set(known.map(({ guardrail }) => guardrail)), checks, outside },
      isOlder: run.isOlder === true,
      ...failures,
      onFinding: (finding) => this.#count(run, finding),
    });
  }

  /** Null for an open one without a check. */
  async #made(
    guardrail: Guardrail,
    { run, failing, onFailure }: AskedRun,
    signal: AbortSignal,
  ): Promise<CheckedGuardrail | OutsideGuardrail | null> {
    try {
      return await this.checkOf(run.tenantId, guardrail, signal);
    } catch (cause) {
      signal.throwIfAborted();
      failing.push(guardrail);
      onFailure({ guardrail, cause });
      if (guardrail.onError === 'open') return null;
      throw guardrailUnavailable(guardrail);
    }
  }

  /** The check of a stored guardrail; those of the owner are compiled once for all tenants. Throws if it can't be made. */
  async checkOf(
    tenantId: string,
    guardrail: Guardrail,
    signal: AbortSignal,
  ): Promise<CheckedGuardrail | OutsideGuardrail> {
    const { id, version, check, except, hold, isOwner } = guardrail;
    if (isBuiltIn(check)) {
      const stored = { id, version: String(version), check, except, hold };
      const wait = { deadlineMs: compiledWithinMs, signal };
      const { compiler } = this.#options;
      return { guardrail, check: await compiler.compiled(isOwner ? 'owner' : tenantId, stored, wait) };
    }
    const known = this.#outside.get(guardrail);
    if (known !== undefined) return known;
    const made = this.outsideOf(guardrail, this.#withSecrets(guardrail, check));
    this.#outside.set(guardrail, made);
    return made;
  }

  /** A guardrail with a check by a model or a server, and its credentials. */
  outsideOf(guardrail: Guardrail, check: NewCheck): OutsideGuardrail {
    const { id, version, except } = guardrail;
    const asking = this.#options.outside.checkOf(check, `${id} ${version}`);
    if (asking === null) throw new Error('the check is one of the gateway');
    return { guardrail, check: asking, exceptions: new Exceptions(except) };
  }

  #withSecrets({ id, secrets }: Guardrail, check: CheckView): NewCheck {
    if (check.type !== 'presidio' && check.type !== 'webhook') return check;
    const auth =
      secrets === null
        ? ({ type: 'none' } as const)
        : openGuardrailSecrets(this.#options.keyRing, { id }, secrets);
    if (auth.type === 'headers') return { ...check, auth: { ...auth, headers: { ...auth.headers } } };
    return { ...check, auth };
  }

  /** Logs a failure once a minute and guardrail, without the message of its error: it may have a part of a text. */
  #log({ guardrail, cause }: CheckFailure): void {
    const { id, name } = guardrail;
    if (!this.#logged.passes(id)) return;
    const { name: error, stack = '' } = cause instanceof Error ? cause : new Error();
    const frames = stack.split('\n').filter((line) => /^ +at /.test(line));
    const entry = { guardrail_id: id, guardrail: name, error, frames };
    this.#options.log.error(entry, 'the check of a guardrail failed');
  }

  #count(run: GuardedRun, finding: Finding): void {
    const { guardrail, on, outcome } = finding;
    this.#findings.inc({ check: guardrail.check.type, on, outcome });
    if (outcome === 'blocked') this.#options.onBlocked(run, finding);
  }
}

function isOutside(made: CheckedGuardrail | OutsideGuardrail): made is OutsideGuardrail {
  return 'exceptions' in made;
}
