import { dialects } from '@gatehouse/dialects/dialects';
import { piiShapes } from '@gatehouse/guardrails/checks/pii';
import { secretShapes } from '@gatehouse/guardrails/checks/secrets';
import { shapesCheck } from '@gatehouse/guardrails/compiled-check';
import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import type { GuardrailDefinition } from '@gatehouse/contract/guardrails';
import { GuardedStream, type AnswerChecks } from '../src/guardrails/guarded-stream.ts';
import { RunGuardrails } from '../src/guardrails/run-guardrails.ts';
import type { Substitution } from '../src/guardrails/substitution.ts';
import { kindChecks } from '../src/guardrails/text-checks.ts';
import type { Fields } from './response-answers.ts';

/** Streams of answers through guardrails, without a provider. */

/** Guardrails on texts: personal data and secrets. */
export function guardrailsFor(
  action: GuardrailDefinition['action'],
  on: readonly GuardedText[] = ['answer'],
): RunGuardrails {
  const check = { type: 'pii' as const, types: [], regions: [] };
  const guardrail = {
    ...{ id: 'g', version: 1, name: 'pii', isOwner: false, secrets: null, onError: 'closed' as const },
    ...{ timeoutMs: 2_000, on: [...on], check, action, except: [], message: 'Stop.' },
    ...{ unreadable: 'allow' as const, hold: null },
  };
  const compiled = shapesCheck([...piiShapes({}), ...secretShapes()], []);
  const checks = kindChecks([{ guardrail, check: compiled }]);
  return new RunGuardrails({
    ...{
      guardrails: [guardrail],
      applied: new Set([guardrail]),
      checks: new Map(on.map((kind) => [kind, checks])),
      outside: [],
      substitution: null,
    },
    onFinding: () => undefined,
    failing: [],
    onFailure: () => undefined,
    onFailing: () => undefined,
  });
}

export type Name = keyof typeof dialects;

/** A stream with the frames that have left it. */
export function guardedStream(name: Name, guardrails: RunGuardrails): OpenStream {
  return openStream(name, guardrails.answerChecks({ onFailed }), !guardrails.changesAnswers);
}

interface OpenStream {
  stream: GuardedStream;
  out: Buffer[];
}

function onFailed(error: unknown): never {
  throw error;
}

function openStream(name: Name, checks: AnswerChecks, isFlagging: boolean): OpenStream {
  const dialect = dialects[name];
  const out: Buffer[] = [];
  const stream = new GuardedStream({
    ...{ tenantId: 't', hold: () => true, onOver: () => undefined, rules: dialect.texts.frame },
    checks,
    isFlagging,
    writer: dialect.refusalWriter(1),
    next: {
      write: (some) => {
        out.push(...some);
        return true;
      },
      onDrain: () => undefined,
    },
  });
  return { stream, out };
}

/** The answer of a stream, as a client puts it together. */
export async function passed(
  name: Name,
  frames: readonly string[],
  guardrails: RunGuardrails,
): Promise<Fields> {
  return answerOf(name, frames, guardedStream(name, guardrails));
}

/** The same with values in place of their placeholders. */
export async function restored(
  name: Name,
  frames: readonly string[],
  substitution: Substitution,
): Promise<Fields> {
  return answerOf(name, frames, openStream(name, substitution.streamed(onFailed), false));
}

async function answerOf(name: Name, frames: readonly string[], { stream, out }: OpenStream): Promise<Fields> {
  for (const frame of frames) stream.write([Buffer.from(frame)]);
  await stream.end([]);
  const builder = dialects[name].answerBuilder();
  for (const frame of [...out, ...(stream.isOver ? stream.endFrames(null, true) : [])]) builder.add(frame);
  return JSON.parse(builder.built?.toString() ?? 'null') as Fields;
}
