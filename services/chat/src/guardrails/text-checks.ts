import type { CompiledCheck } from '@gatehouse/guardrails/compiled-check';
import { TextScan, type ScannedPiece, type TextMatch } from '@gatehouse/guardrails/text-scan';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { Guardrail } from '../policies/guardrail.ts';

/** A match of a guardrail's check; `from` and `until` are UTF-16 offsets in its text. */
export interface CheckMatch {
  guardrail: Guardrail;
  type: string;
  from: number;
  until: number;
}

/** A check with the error it threw. */
export interface CheckFailure {
  guardrail: Guardrail;
  cause: unknown;
}

/** The result of checks: `matches` are those of checks without a failure. */
export interface TextFindings {
  matches: readonly CheckMatch[];
  failures: readonly CheckFailure[];
}

/** The built-in checks of some guardrails: one scan of a text for all. */
export interface TextChecks {
  findingsIn(text: string): Steps<TextFindings>;
  /** Scans a text in pieces. */
  scan(): PieceScan;
}

/** The scan of one text in pieces. */
export interface PieceScan {
  push(piece: string): Steps<PieceMatches>;
  end(): Steps<PieceMatches>;
}

/** See `ScannedPiece`. */
export interface PieceMatches {
  cleared: number;
  matches: readonly CheckMatch[];
}

/** The checks of guardrails on one kind of text. */
export interface KindChecks {
  all: TextChecks;
  /** Those that block or change texts, for which a stream waits; null without any. */
  changing: TextChecks | null;
  /** Those that flag texts; null without any. */
  flagging: TextChecks | null;
  /** Whether texts are held until their end. */
  holdsTexts: boolean;
}

/** A guardrail with its compiled check. */
export interface CheckedGuardrail {
  guardrail: Guardrail;
  check: CompiledCheck;
}

/** The checks of guardrails on one kind of text. */
export function kindChecks(guardrails: readonly CheckedGuardrail[]): KindChecks {
  const changing = guardrails.filter(({ guardrail }) => guardrail.action !== 'flag');
  const flagging = guardrails.filter(({ guardrail }) => guardrail.action === 'flag');
  return {
    all: textChecks(guardrails),
    changing: changing.length === 0 ? null : textChecks(changing),
    flagging: flagging.length === 0 ? null : textChecks(flagging),
    holdsTexts: changing.some(({ guardrail }) => guardrail.hold === 'answer'),
  };
}

function textChecks(guardrails: readonly CheckedGuardrail[]): TextChecks {
  return {
    findingsIn: (text) => findingsIn(guardrails, text),
    scan() {
      const scan = scanOf(guardrails);
      const matchesOf = ({ cleared, matches }: ScannedPiece): PieceMatches => ({
        cleared,
        matches: matches.length === 0 ? [] : checkMatches(guardrails, matches),
      });
      return {
        *push(piece) {
          return matchesOf(yield* scan.push(piece));
        },
        *end() {
          return matchesOf(yield* scan.end());
        },
      };
    },
  };
}

function scanOf(guardrails: readonly CheckedGuardrail[]): TextScan {
  return new TextScan(guardrails.map(({ check }) => check));
}

function checkMatches(guardrails: readonly CheckedGuardrail[], matches: Iterable<TextMatch>): CheckMatch[] {
  return [...matches].flatMap(({ check, type, from, until }) => {
    const guardrail = guardrails[check]?.guardrail;
    return guardrail === undefined ? [] : [{ guardrail, type, from, until }];
  });
}

/** After a failure each check is made alone: the others hold. */
function* findingsIn(guardrails: readonly CheckedGuardrail[], text: string): Steps<TextFindings> {
  if (guardrails.length === 0) return { matches: [], failures: [] };
  const scanned = yield* attempted(matchesIn(guardrails, text));
  if ('result' in scanned) return { matches: scanned.result, failures: [] };
  const { cause } = scanned;
  if (guardrails.length === 1)
    return { matches: [], failures: guardrails.map(({ guardrail }) => ({ guardrail, cause })) };
  const findings: TextFindings[] = [];
  for (const each of guardrails) findings.push(yield* findingsIn([each], text));
  return {
    matches: findings.flatMap(({ matches }) => matches),
    failures: findings.flatMap(({ failures }) => failures),
  };
}

/** The result of steps, or their error. An error thrown where they yield, as for a client gone, passes. */
function* attempted<Result>(steps: Steps<Result>): Steps<{ result: Result } | { cause: unknown }> {
  for (;;) {
    let step: IteratorResult<unknown, Result>;
    try {
      step = steps.next();
    } catch (cause) {
      return { cause };
    }
    if (step.done === true) return { result: step.value };
    yield;
  }
}

function* matchesIn(guardrails: readonly CheckedGuardrail[], text: string): Steps<readonly CheckMatch[]> {
  const scan = scanOf(guardrails);
  const matches = new Map<string, TextMatch>();
  const pieces = [yield* scan.push(text), yield* scan.end()];
  for (const match of pieces.flatMap((piece) => piece.matches))
    matches.set(`${match.check},${match.type},${match.from}`, match);
  return checkMatches(guardrails, matches.values());
}
