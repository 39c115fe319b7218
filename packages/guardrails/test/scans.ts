import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { shapesCheck, type CompiledCheck } from '../src/compiled-check.ts';
import { compileRules } from '../src/compile-rules.ts';
import type { Shape } from '../src/checks/shape.ts';
import type { Rule } from '../src/rule.ts';
import { TextScan, type ScannedPiece, type TextMatch } from '../src/text-scan.ts';

/** The result of a piece, with the length of the text so far. */
export interface Step extends ScannedPiece {
  readonly length: number;
}

/** Cuts a text into pieces of these sizes, which repeat. */
export function piecesOf(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

/** The results of each piece, and of the end. */
export function stepsOf(checks: readonly CompiledCheck[], pieces: readonly string[]): Step[] {
  const scan = new TextScan(checks);
  let length = 0;
  const steps = pieces.map((piece) => {
    length += piece.length;
    return { ...atOnce(scan.push(piece)), length };
  });
  return [...steps, { ...atOnce(scan.end()), length }];
}

/** The last report of each match. */
export function lastReports(steps: readonly ScannedPiece[]): TextMatch[] {
  const last = new Map<string, TextMatch>();
  for (const match of steps.flatMap(({ matches }) => matches)) {
    last.set(`${match.check},${match.type},${match.from}`, match);
  }
  return [...last.values()].toSorted(
    (a, b) => a.from - b.from || a.check - b.check || a.until - b.until || (a.type < b.type ? -1 : 1),
  );
}

/** The matches of a whole text. */
export function matchesOf(checks: readonly CompiledCheck[], text: string): TextMatch[] {
  return lastReports(stepsOf(checks, [text]));
}

/** The parts of a text matched by shapes. */
export function textsOfShapes(shapes: readonly Shape[], text: string): string[] {
  return matchesOf([shapesCheck(shapes, [])], text).map(({ from, until }) => text.slice(from, until));
}

/** A check for rules, with their numbers as types. */
export function checkOfRules(rules: readonly Rule[]): CompiledCheck {
  const numbered = rules.map((rule, type) => ({ ...rule, type }));
  return {
    types: numbered.map(({ type }) => String(type)),
    automata: compileRules(numbered),
    shapes: [],
    exceptions: null,
  };
}
